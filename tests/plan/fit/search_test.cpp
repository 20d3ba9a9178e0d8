#include "plan/fit/search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/plan/fit/fake_card.h"

namespace headroom {
namespace {

FakeCard card_of(int64_t capacity) { return {.capacity = capacity, .need = plain_need}; }

// Checks all answers: each fits, one step beyond does not, costs rise and so do the values.
void expect_proved(const FitResult& result, const FitQuestion& question, const FakeCard& card) {
  for (size_t i = 0; i < result.answers.size(); ++i) {
    const FitAnswer& answer = result.answers[i];
    EXPECT_EQ(answer.verdict.fits, Fits::kYes) << answer.set.in_words();
    EXPECT_EQ(card.runs.count(row_name(answer.set.spec)), 1U) << "was run";
    if (answer.beyond) {
      EXPECT_EQ(answer.beyond->verdict.fits, Fits::kNo) << answer.beyond->what;
      EXPECT_EQ(card.runs.count(row_name(answer.beyond->spec)), 1U) << "was run";
    }
    if (i == 0) continue;
    const FitAnswer& before = result.answers[i - 1];
    EXPECT_TRUE(question.order.is_cheaper(before.set.cost, answer.set.cost));
    if (question.open == Open::kNothing) {
      EXPECT_LT(answer.need, before.need);
    } else {
      EXPECT_GT(answer.value, before.value);
    }
  }
}

TEST(CheapestSets, NothingIsTheAnswerWhereARunFitsAsItIs) {
  const FakeCard card = card_of(1000);
  const FitResult result = search_fit(question_of(), card.oracle());
  ASSERT_EQ(result.answers.size(), 1U) << "everything else would be this with something added";
  EXPECT_EQ(result.answers[0].set.in_words(), "nothing");
  EXPECT_FALSE(result.answers[0].beyond);
  EXPECT_EQ(card.runs.size(), 1U);
}

TEST(CheapestSets, AreTheCheapestAndNoTechniqueOfTheirsCanGo) {
  for (int64_t capacity = 240; capacity < 640; capacity += 13) {
    const FakeCard card = card_of(capacity);
    const FitQuestion question = question_of();
    const FitResult result = search_fit(question, card.oracle());
    ASSERT_EQ(result.answers.empty(), result.nearest.has_value()) << capacity;
    expect_proved(result, question, card);
    const auto sets = technique_sets(question.base, question.techniques, question.order);
    const auto fits = [&](const TechniqueSet& set) { return plain_need(set.spec) <= capacity; };
    const auto cheapest = std::find_if(sets.begin(), sets.end(), fits);
    if (cheapest == sets.end()) {
      EXPECT_EQ(result.nearest->verdict.fits, Fits::kNo);
      continue;
    }
    EXPECT_EQ(result.answers[0].set.in_words(), cheapest->in_words());
    for (const FitAnswer& answer : result.answers) {
      const auto place = std::find_if(sets.begin(), sets.end(), [&](const TechniqueSet& set) {
        return set.cost == answer.set.cost;
      });
      for (const size_t back : one_step_back(sets, static_cast<size_t>(place - sets.begin()))) {
        EXPECT_FALSE(fits(sets[back])) << answer.set.in_words() << ": " << sets[back].in_words();
      }
    }
  }
}

TEST(CheapestSets, SayWhatIsShortWhereNothingFits) {
  const FakeCard card = card_of(100);
  const FitResult result = search_fit(question_of(), card.oracle());
  ASSERT_TRUE(result.nearest);
  int64_t least = INT64_MAX;
  const FitQuestion question = question_of();
  for (const auto& set : technique_sets(question.base, question.techniques, question.order)) {
    least = std::min(least, plain_need(set.spec));
  }
  EXPECT_EQ(result.nearest->need, least);
  EXPECT_EQ(card.runs.size(), 1U) << "and it was run";
}

bool offloads(const TechniqueSet& set) { return plain_host(set.spec) > 0; }

// Only sets with the optimizer's states on the host need little memory.
FitQuestion question_of_offload() {
  FitQuestion question = question_of();
  std::erase_if(question.techniques, [](const RunTechnique& technique) {
    return technique.technique == Technique::kBf16Weights ||
           technique.technique == Technique::kOptimizer8Bit ||
           technique.technique == Technique::kOtherOptimizer;
  });
  return question;
}

TEST(CheapestSets, KeepNoMoreOnTheHostThanTheLimit) {
  FakeCard card = card_of(190);
  card.host = plain_host;
  const FitQuestion question = question_of_offload();
  for (const int64_t limit : {INT64_MAX, int64_t{540}, int64_t{500}}) {
    card.host_limit = limit;
    const FitResult found = search_fit(question, card.oracle());
    ASSERT_FALSE(found.answers.empty()) << limit;
    expect_proved(found, question, card);
    for (const FitAnswer& answer : found.answers) {
      EXPECT_TRUE(offloads(answer.set));
      EXPECT_LE(plain_host(answer.set.spec), limit);
    }
  }
  card.host_limit = 499;
  EXPECT_TRUE(search_fit(question, card.oracle()).answers.empty());
}

TEST(CheapestSets, SayThatTheHostIsShortWhereTheCardHasRoom) {
  FakeCard card = card_of(190);
  card.host = plain_host;
  card.host_limit = 300;
  const auto nearest = [&] { return search_fit(question_of_offload(), card.oracle()).nearest; };
  const auto has_room = nearest();
  ASSERT_TRUE(has_room);
  EXPECT_EQ(has_room->verdict.fits, Fits::kNo);
  EXPECT_EQ(has_room->verdict.host_excess, 500 - 300);
  EXPECT_LE(plain_need(has_room->set.spec), 190);
  card.capacity = 100;
  const auto has_none = nearest();
  ASSERT_TRUE(has_none);
  EXPECT_EQ(has_none->verdict.host_excess, 0);
  EXPECT_LE(plain_host(has_none->set.spec), 300);
}

TEST(CheapestSets, ASetThatCannotBeJudgedIsNotSaidToBeTooLarge) {
  FakeCard card = card_of(100);
  card.said = [](const RunSpec&, Fits) { return Fits::kUnknown; };
  const FitResult result = search_fit(question_of(), card.oracle());
  EXPECT_FALSE(result.nearest);
  EXPECT_EQ(result.notes.size(), 1U);
}

TEST(CheapestSets, TheCardIsBelievedWhereItRefusesWhatTheoryProposes) {
  FakeCard card = card_of(560);
  card.said = [](const RunSpec& spec, Fits by_theory) {
    return spec.release_gradients ? Fits::kNo : by_theory;  // fragmentation
  };
  const FitQuestion question = question_of();
  const FitResult result = search_fit(question, card.oracle());
  ASSERT_FALSE(result.answers.empty());
  expect_proved(result, question, card);
  for (const FitAnswer& answer : result.answers) EXPECT_FALSE(answer.set.spec.release_gradients);
  EXPECT_FALSE(result.notes.empty());
}

TEST(CheapestSets, TheCardIsBelievedWhereItRunsWhatTheoryFindsTooLarge) {
  FakeCard card = card_of(560);
  card.said = [](const RunSpec& spec, Fits) {
    return plain_need(spec) <= 590 ? Fits::kYes : Fits::kNo;
  };
  const FitQuestion question = question_of();
  const FitResult result = search_fit(question, card.oracle());
  ASSERT_FALSE(result.answers.empty());
  EXPECT_FALSE(result.notes.empty());
  for (const FitAnswer& answer : result.answers) {
    if (answer.beyond) {
      EXPECT_EQ(answer.beyond->verdict.fits, Fits::kNo);
    }
  }
}

TEST(CheapestSets, WhatCannotBeJudgedIsSaidAndPassedOver) {
  FakeCard card = card_of(560);
  card.said = [](const RunSpec& spec, Fits by_theory) {
    return spec.attention == Attention::kSdpa ? Fits::kUnknown : by_theory;
  };
  const FitResult result = search_fit(question_of(), card.oracle());
  ASSERT_FALSE(result.answers.empty());
  for (const FitAnswer& answer : result.answers) {
    EXPECT_EQ(answer.set.spec.attention, Attention::kEager);
  }
}

TEST(CheapestSets, NoCellIsRunTwice) {
  const FakeCard card = card_of(400);
  search_fit(question_of(), card.oracle());
  for (const auto& [name, times] : card.runs) EXPECT_EQ(times, 1) << name;
}

TEST(CheapestSets, TheQuestionsToTheJudgeAreCountedByKind) {
  const FakeCard card = card_of(300);
  size_t needs = 0;
  FitOracle oracle = card.oracle();
  oracle.need = [&, ask = oracle.need](const RunSpec& spec) { return ++needs, ask(spec); };
  const FitResult result = search_fit(question_of(), oracle);
  EXPECT_GT(needs, 0U);
  EXPECT_EQ(result.questions.needs, needs);
  EXPECT_EQ(result.questions.cells, card.runs.size());
  EXPECT_GE(result.questions.fits, result.answers.size());
  EXPECT_LE(result.questions.fits, result.sets);
  EXPECT_EQ(result.questions.guesses, 0U) << "the cheapest sets are asked for";
  EXPECT_EQ(search_fit(question_of(), oracle).questions.fits, result.questions.fits)
      << "what is asked ahead of the search is not its question";
}

TEST(CheapestSets, WhatIsKnownIsKeptWhenStopped) {
  FakeCard card = card_of(330);
  int left = 3;
  card.said = [&](const RunSpec&, Fits by_theory) {
    card.stops = --left <= 0;
    return card.stops ? Fits::kUnknown : by_theory;
  };
  const FitQuestion question = question_of();
  const FitResult result = search_fit(question, card.oracle());
  EXPECT_TRUE(result.stopped);
  ASSERT_EQ(result.answers.size(), 1U);
  expect_proved(result, question, card);
}

TEST(CheapestSets, FollowTheOrderOfCosts) {
  FitQuestion question = question_of();
  const FakeCard card = card_of(500);
  const FitResult usual = search_fit(question, card.oracle());
  question.order = CostOrder("--cost-order", "release-gradients,bf16-products,other-optimizer");
  const FitResult other = search_fit(question, card.oracle());
  expect_proved(other, question, card);
  EXPECT_NE(usual.answers[0].set.in_words(), other.answers[0].set.in_words());
}

class LargestValues : public testing::TestWithParam<Open> {};

TEST_P(LargestValues, ReachFurtherThanEveryCheaperSet) {
  for (const int64_t capacity : {450, 700, 1500, 9000}) {
    const FakeCard card = card_of(capacity);
    FitQuestion question = question_of(GetParam());
    question.answers = 100;
    const FitResult result = search_fit(question, card.oracle());
    ASSERT_FALSE(result.answers.empty());
    expect_proved(result, question, card);
    for (const FitAnswer& answer : result.answers) {
      EXPECT_TRUE(answer.beyond || answer.value == question.most) << answer.value;
    }
  }
}

TEST_P(LargestValues, AreThinnedToSoManyAndKeepTheEnds) {
  const FakeCard card = card_of(3000);
  FitQuestion question = question_of(GetParam());
  question.answers = 100;
  const FitResult all = search_fit(question, card.oracle());
  ASSERT_GT(all.answers.size(), 4U);
  question.answers = 4;
  const FitResult few = search_fit(question, card.oracle());
  EXPECT_EQ(few.answers.size(), 4U);
  EXPECT_EQ(few.answers.front().value, all.answers.front().value);
  EXPECT_EQ(few.answers.back().value, all.answers.back().value);
}

TEST_P(LargestValues, TheCardDecidesHowFarASetReaches) {
  FakeCard card = card_of(1500);
  card.said = [](const RunSpec& spec, Fits) {
    return plain_need(spec) <= 1200 ? Fits::kYes : Fits::kNo;
  };
  const FitQuestion question = question_of(GetParam());
  const FitResult result = search_fit(question, card.oracle());
  ASSERT_FALSE(result.answers.empty());
  for (const FitAnswer& answer : result.answers) {
    EXPECT_LE(plain_need(answer.set.spec), 1200);
    ASSERT_TRUE(answer.beyond);
    EXPECT_EQ(answer.beyond->verdict.fits, Fits::kNo);
  }
  EXPECT_FALSE(result.notes.empty());
}

TEST_P(LargestValues, EndWhereTheHostHasNoMoreRoom) {
  FakeCard card = card_of(2000);
  card.host = [](const RunSpec& spec) { return plain_host(spec) * spec.context_length / 128; };
  FitQuestion question = question_of(GetParam());
  question.answers = 100;
  std::erase_if(question.techniques, [](const RunTechnique& technique) {
    return technique.technique != Technique::kActivationOffload;
  });
  card.need = [](const RunSpec& spec) {
    const int64_t each = spec.activations.offloaded() ? 10 : 60;
    return 400 + each * spec.batch_size * spec.context_length / 128;
  };
  card.host_limit = 450;
  const FitResult result = search_fit(question, card.oracle());
  ASSERT_EQ(result.answers.size(), 2U);
  const FitAnswer& last = result.answers.back();
  EXPECT_LE(card.host(last.set.spec), 450);
  ASSERT_TRUE(last.beyond);
  EXPECT_EQ(last.beyond->verdict.fits, Fits::kNo);
  EXPECT_EQ(last.beyond->verdict.host_excess, card.host(last.beyond->spec) - 450);
  EXPECT_GT(last.beyond->verdict.host_excess, 0);
}

TEST_P(LargestValues, SayWhatIsShortWhereNotOneFits) {
  const FakeCard card = card_of(50);
  const FitResult result = search_fit(question_of(GetParam()), card.oracle());
  EXPECT_TRUE(result.answers.empty());
  ASSERT_TRUE(result.nearest);
  EXPECT_EQ(result.nearest->verdict.fits, Fits::kNo);
  EXPECT_EQ(card.runs.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Fit, LargestValues, testing::Values(Open::kBatch, Open::kContext));

TEST(LargestContexts, OfFp8ProductsAreInSixteens) {
  const FakeCard card = card_of(900);
  FitQuestion question = question_of(Open::kContext);
  question.base.batch_size = 1;
  question.answers = 100;
  std::erase_if(question.techniques, [](const RunTechnique& technique) {
    return technique.technique != Technique::kFp8Products;
  });
  const FitResult result = search_fit(question, card.oracle());
  ASSERT_FALSE(result.answers.empty());
  for (const FitAnswer& answer : result.answers) {
    if (answer.set.spec.precision == Precision::kFp8) {
      EXPECT_EQ(answer.value % 16, 0);
    }
  }
}

}  // namespace
}  // namespace headroom
