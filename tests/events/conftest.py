from tests.recording import embedded, real_store, store

__all__ = ["embedded", "real_store", "store"]
