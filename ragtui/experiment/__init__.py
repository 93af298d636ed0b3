"""What is intended: plans (recipes only) and specifications (recipes bound to frozen inputs)."""
