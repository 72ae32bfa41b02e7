"""The routes, one router per subject. A route reads the request, asks the desk, and wraps the answer."""
