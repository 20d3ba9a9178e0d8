# plan
headroom_test(plan_test LABEL cli
              SOURCES plan/cost/activations_test.cpp plan/rlhf/advice_test.cpp plan/cost/layout_test.cpp plan/rlhf/invariants_test.cpp
                      plan/search/recommend_test.cpp plan/rlhf/iteration_test.cpp plan/rlhf/memory_test.cpp plan/rlhf/rehearsed_test.cpp plan/rlhf/rows_added_up_test.cpp
                      plan/closed_form/formula_test.cpp plan/rlhf/timeline_test.cpp plan/rlhf/transitions_test.cpp
              LIBRARIES headroom_plan)
headroom_test(fit_drawing_test LABEL unit SOURCES plan/fit/drawing_test.cpp LIBRARIES headroom_plan)
target_compile_definitions(fit_drawing_test PRIVATE HEADROOM_SOURCES="${CMAKE_SOURCE_DIR}")
headroom_test(fit_test LABEL cli
              SOURCES plan/fit/bracket_test.cpp plan/fit/cells_ahead_test.cpp plan/cost/fullest_ranks_test.cpp plan/fit/meshes_test.cpp plan/fit/need_test.cpp plan/fit/rlhf_agreement_test.cpp plan/fit/search_test.cpp plan/fit/side_by_side_test.cpp
                      plan/fit/technique_sets_test.cpp plan/fit/vary_test.cpp plan/search/cost_order_test.cpp
              LIBRARIES headroom_plan)
headroom_test(asked_card_test LABEL vgpu SOURCES plan/fit/asked_card_test.cpp LIBRARIES headroom_plan)
target_compile_definitions(asked_card_test PRIVATE HEADROOM_CELL_PROGRAM="$<TARGET_FILE:headroom-cell>")
add_dependencies(asked_card_test headroom-cell)
headroom_nightly_test(asked_card_long $<TARGET_FILE:asked_card_test>)
set_tests_properties(asked_card_long PROPERTIES ENVIRONMENT HEADROOM_LONG=1)
# Searches of 7b on eight GPUs, 70b and 405b, of every set that there is, of contexts where batches are searched by day.
headroom_part_at_night(plan_test */Searches.*/1 */Searches.*/3 */Searches.*/5 */Searches.*/6 */Searches.*/7)
headroom_part_at_night(fit_test CheapestSets.AreTheCheapestAndNoTechniqueOfTheirsCanGo
                       */LargestValues.AreThinned*/1 */LargestValues.SayWhatIsShort*/1 */LargestValues.TheCardDecides*/1)
headroom_nightly_test(plan_test_wide $<TARGET_FILE:plan_test> --gtest_filter=RlhfInvariants.*:RehearsedTraining.*:Recommend.*)
headroom_nightly_test(fit_test_wide $<TARGET_FILE:fit_test> --gtest_filter=FullestRanks.*:Need.*:PlanAndFit.*)
set_tests_properties(plan_test_wide fit_test_wide PROPERTIES ENVIRONMENT HEADROOM_LONG=1)
headroom_test(ppo_plan_test LABEL unit SOURCES plan/ppo/cheapest_test.cpp plan/ppo/drawing_test.cpp LIBRARIES headroom_plan)
headroom_test(inference_budget_test LABEL unit SOURCES plan/budget/inference_budget_test.cpp
              LIBRARIES headroom_plan)
# Public figures: ours hold, and the committed table is what is computed.
headroom_command_test(planning_anchors unit python3 -IS studies/published/anchor_table.py
                      results/published/planning_anchors.json $<TARGET_FILE:headroom>
                      --check results/plan/anchors.md)
