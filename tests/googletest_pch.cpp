// Holds the precompiled header that the torch-free tests share.
#include "text/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
