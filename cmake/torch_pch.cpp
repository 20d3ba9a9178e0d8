// Exists to carry the precompiled torch header.
