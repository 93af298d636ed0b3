"""The screens, one module each. The app imports a screen when it is first opened."""
