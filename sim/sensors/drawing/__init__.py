"""Software drawing of robots: solids, meshes of a URDF, depth buffer."""
