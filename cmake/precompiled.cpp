// This file is compiled only to create its precompiled header (precompiled.cmake).
