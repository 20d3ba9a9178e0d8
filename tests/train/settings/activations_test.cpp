#include "train/settings/vocabulary/activations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/quantity.h"

namespace headroom {
namespace {

using testing::HasSubstr;

std::string refusal_of_activations(const std::string& text) {
  try {
    parse_activations(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(Activations, ReadBackWhatIsPrinted) {
  for (const char* text : {"exact", "int8", "fp8", "int8:block=128", "fp8:min=1MiB", "int8:min=0",
                           "int8:block=8,min=1536B", "int8:block=65536,min=1000"}) {
    EXPECT_EQ(parse_activations(to_string(parse_activations(text))), parse_activations(text))
        << text;
  }
  EXPECT_EQ(to_string(parse_activations("int8:block=64,min=65536")), "int8") << "the default";
  EXPECT_EQ(to_string(parse_activations("int8:min=2097152,block=32")), "int8:block=32,min=2MiB");
  EXPECT_EQ(to_string(parse_activations("fp8:min=1536")), "fp8:min=1536");
  EXPECT_EQ(to_string(parse_activations("fp8:min=0")), "fp8:min=0");
  EXPECT_EQ(to_string(Activations{}), "exact");
}

TEST(Activations, RefuseWhatIsNoFormWithTheNearest) {
  const std::string allowed = "allowed: " + join(choices_of<ActivationForm>());
  EXPECT_THAT(refusal_of_activations("int4"),
              HasSubstr("'int4' is unknown; " + allowed + "; did you mean int8?"));
  EXPECT_THAT(refusal_of_activations("int8+fp8"), HasSubstr(allowed));
  EXPECT_THAT(refusal_of_activations(""), HasSubstr(allowed));
}

TEST(Activations, RefuseOptionsThatAreNoneInOneLine) {
  for (const char* text : {"int8:block=0", "int8:block=7", "int8:block=65537", "int8:block=abc",
                           "int8:block=", "int8:block=1e3"}) {
    EXPECT_THAT(refusal_of_activations(text), HasSubstr("allowed: 8 to 65536 numbers (example: "))
        << text;
  }
  EXPECT_THAT(refusal_of_activations("fp8:min=1x"),
              HasSubstr("'fp8:min=1x' has min=1x; allowed: bytes"));
  EXPECT_THAT(refusal_of_activations("int8:min=-1"), HasSubstr("has min=-1"));
  EXPECT_THAT(refusal_of_activations("int8:blok=64"), HasSubstr("'blok=64'; allowed"));
  EXPECT_THAT(refusal_of_activations("int8:blok=64"), HasSubstr("did you mean block?"));
  EXPECT_THAT(refusal_of_activations("int8:block"), HasSubstr("unknown option 'block'"));
  EXPECT_THAT(refusal_of_activations("int8:"), HasSubstr("empty element 1"));
  EXPECT_THAT(refusal_of_activations("int8:block=64,block=64"), HasSubstr("block= twice"));
  EXPECT_THAT(refusal_of_activations("exact:block=64"), HasSubstr("exact takes none"));
}

}  // namespace
}  // namespace headroom
