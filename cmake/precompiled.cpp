// Compiled only for its precompiled header (precompiled.cmake).
