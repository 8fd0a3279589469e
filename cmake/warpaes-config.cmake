include(${CMAKE_CURRENT_LIST_DIR}/warpaes-targets.cmake)
# The C++ headers need C++20. A project without the C++ language cannot request this feature.
if(CMAKE_CXX_COMPILE_FEATURES)
  set_property(TARGET warpaes::warpaes APPEND PROPERTY INTERFACE_COMPILE_FEATURES cxx_std_20)
endif()
