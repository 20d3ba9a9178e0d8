// Holds the precompiled header that the torch-free tests share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/json.h"
