"""The terminal app: a viewer of workspaces, stores and journals. It computes no number of its own.

    app        the shell: modes, palette, toasts, exit          messages   what workers and screens tell each other
    screens    one module and one .tcss a screen                widgets    what several screens are made of
    data       pure functions that make immutable snapshots     process    runs started as processes of their own
    follow     a journal, followed in a thread                  guard      restores the terminal after a kill
    themes     light, dark and 16 colours; NO_COLOR and ASCII   memory     filters and sort, remembered by workspace

Data flows one way: a worker calls a function of `data`, posts its result as a message, a handler keeps it, and the
redraw follows from that. Nothing here keeps a store open.
"""
