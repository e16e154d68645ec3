"""Checks of the shapes of a URDF, and the files of its meshes."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from nao_testbed.models.files.xml_tree import Element

_SIZES = {"sphere": ("radius",), "cylinder": ("radius", "length")}
_SIZES["capsule"] = _SIZES["cylinder"]
ACCEPTED = ("box", *_SIZES, "mesh")


ENGINE_MESHES = (".obj", ".stl")
"""Mesh files that engines and the dynamics library read."""


def check_shapes(link: Element) -> list[str]:
    """Reject shapes of a link without extent or of an unknown kind.

    Returns:
        Names of missing mesh files; `plain_urdf` replaces these meshes.

    Raises:
        RobotDataError: a shape cannot be used; the message begins with its line.
    """
    missing = []
    for body in (*link.all("collision"), *link.all("visual")):
        geometry = body.need("geometry")
        if len(geometry.children) != 1:
            count = len(geometry.children)
            geometry.fail(
                f"{body.tag} of {link.title} has {count} shapes; give one of "
                f"{', '.join(ACCEPTED)}."
            )
        shape = geometry.children[0]
        _check_shape(shape, f"{body.tag} of {link.title}")
        name = shape.attributes.get("filename", "")
        if shape.tag == "mesh" and mesh_path(shape.path, name) is None:
            missing.append(name)
    return missing


def check_primitives(link: Element) -> None:
    """Reject boxes, spheres and cylinders of a link without extent; not meshes.

    Raises:
        RobotDataError: a shape cannot be used; the message begins with its line.
    """
    for body in link.all("collision"):
        for shape in body.need("geometry").children:
            if shape.tag != "mesh":
                _check_shape(shape, f"{body.tag} of {link.title}")


def _check_shape(shape: Element, place: str) -> None:
    if shape.tag not in ACCEPTED:
        shape.fail(f"{place} is {shape.tag!r}; accepted are {', '.join(ACCEPTED)}.")
    if shape.tag == "mesh":
        _check_mesh(shape, place)
        return
    if shape.tag == "box":
        shape.text("size")
        extents = {"size": min(shape.vector("size", (0.0, 0.0, 0.0)))}
    else:
        extents = {name: shape.number(name) for name in _SIZES[shape.tag]}
    for name, value in extents.items():
        if value <= 0.0:
            shape.fail(
                f"{place}: {name} of the {shape.tag} is "
                f"{shape.attributes[name].strip()} m; give extents above 0."
            )


def _check_mesh(shape: Element, place: str) -> None:
    filename = shape.text("filename")
    if min(shape.vector("scale", (1.0, 1.0, 1.0))) == 0.0:
        shape.fail(f"{place}: scale of mesh {filename!r} has a 0.")
    path = mesh_path(shape.path, filename)
    if path is not None and (problem := _mesh_problem(path)):
        shape.fail(f"{place}: mesh {filename!r} {problem}.")


def _mesh_problem(path: Path) -> str | None:
    """Return the problem of a mesh file, or None; invalid files crash the engines."""
    kind, head = path.suffix.lower(), path.read_bytes()
    known = (*ENGINE_MESHES, ".dae")
    if kind not in known:
        return f"ends in {kind or 'nothing'}; give one of {', '.join(known)}"
    if kind == ".obj":
        lines = [line.split(maxsplit=4) for line in head.splitlines()]
        kinds = [words[0] for words in lines if len(words) > 3]
        is_one = kinds.count(b"v") > 2 and b"f" in kinds
    elif kind == ".stl":
        count = int.from_bytes(head[80:84], "little")
        is_one = len(head) == 84 + 50 * count > 84 or (
            head.lstrip().startswith(b"solid") and b"vertex" in head
        )
    else:
        is_one = b"<COLLADA" in head and b"</float_array>" in head
    return None if is_one else f"has no mesh of type {kind}"


def mesh_path(urdf: Path, filename: str) -> Path | None:
    """Return the file of a mesh, or None if it does not exist.

    Args:
        urdf: URDF that refers to the mesh.
        filename: a path, relative to the URDF's folder or absolute; a file URL; or
            `package://NAME/PATH` of ROS, where NAME is a folder beside the URDF or
            beside one of the folders above it, or such a folder itself.
    """
    folder = urdf.resolve().parent
    package = _package(filename)
    if package is not None:
        name, path = package
        above = (folder, *folder.parents)
        tries = [one / name / path for one in above]
        tries += [one / path for one in above if one.name == name]
    elif urlsplit(filename).scheme == "file":
        tries = [Path(unquote(urlsplit(filename).path))]
    else:
        tries = [folder / filename]
    return next((path for path in tries if path.is_file()), None)


def package_folders(urdf: Path) -> list[str]:
    """Return Pinocchio's search path for meshes: the URDF's folder and its parents."""
    folder = urdf.resolve().parent
    return [str(one) for one in (folder, *folder.parents)]


def _package(filename: str) -> tuple[str, str] | None:
    """Return name and path of `package://NAME/PATH`; None for another form."""
    rest = filename.removeprefix("package://")
    name, _, path = rest.partition("/")
    return (name, path) if rest != filename else None
