// Only its precompiled header is wanted (precompiled.cmake).
