# Writes OUTPUT, a .cpp that defines `std::string_view headroom::NAME()` with the text of INPUT, which HEADER declares.
# GCC takes string literals of any length; the delimiter must not occur in the text.
file(READ "${INPUT}" text)
string(FIND "${text}" ")embedded\"" delimiter)
if(NOT delimiter EQUAL -1)
  message(FATAL_ERROR "${INPUT} contains the delimiter of the literal it is embedded in")
endif()
file(WRITE "${OUTPUT}" "#include \"${HEADER}\"\n\nstd::string_view headroom::${NAME}() {\n"
     "  return R\"embedded(${text})embedded\";\n}\n")
