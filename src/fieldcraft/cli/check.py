"""`fieldcraft check`: whether a model file is intact."""

from __future__ import annotations

from fieldcraft.cli.options import Model, Quiet

EXAMPLES = ["fieldcraft check ner.fc"]


def check(model: Model, *, quiet: Quiet = False) -> None:
    """Read all of a model file, or of a snapshot, and compare it with its checksums.

    If it is damaged, the exit code is 1, and one line says what has changed. Loading does the same with
    files of up to 64 MB. Files of earlier versions and models of other tools have no checksums; only their
    structure can be checked.
    """
    from fieldcraft.models.persistence import load
    from fieldcraft.store.files import read_file
    from fieldcraft.store.importers import toolkit_of
    from fieldcraft.store.snapshots import KIND as SNAPSHOT

    toolkit = toolkit_of(model)
    if toolkit is not None:
        load(model)
        if not quiet:
            print(f"{model}: a model of {toolkit}, which has no checksums: only its structure was checked")
        return
    stored = read_file(model, verify=True)
    if stored.header.get("kind") != SNAPSHOT:
        load(model, verify=False)
    if quiet:
        return
    if stored.compared:
        size = sum(array.nbytes for array in stored.arrays.values())
        print(f"{model}: intact ({len(stored.arrays)} arrays of {size:,} bytes)")
    else:
        print(f"{model}: no checksums: only its structure was checked; save the model again to add them")
