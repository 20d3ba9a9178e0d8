"""A model of one shape for a serving engine, without weights and tokenizer."""

import hashlib
import os
import pathlib


def model_folder(shape):
    """The folder of this config.json. Engines' caches of compiled code know a model by its path."""
    content = pathlib.Path(shape).read_bytes()
    name = hashlib.sha256(content).hexdigest()[:16]
    folder = pathlib.Path.home() / ".cache/headroom/shapes" / name
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / f"config.json.{os.getpid()}"
    written.write_bytes(content)
    written.replace(folder / "config.json")
    return str(folder)
