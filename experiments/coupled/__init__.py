"""A robot whose set-points and stiffness several behaviours share."""
