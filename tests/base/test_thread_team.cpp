#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "base/cpu.h"
#include "base/thread_team.h"

namespace terrace {
namespace {

/// How often each item of 0..count was handed out.
std::vector<int> visits(ThreadTeam& team, size_t count, size_t grain) {
  std::vector<std::atomic<int>> seen(count);
  team.for_each(count, grain, [&](size_t first, size_t last) {
    EXPECT_LT(first, last);
    EXPECT_LE(last, count);
    for (size_t i = first; i < last; ++i) ++seen[i];
  });
  return {seen.begin(), seen.end()};
}

std::vector<size_t> sizes() { return {1, 2, 3, 7, std::thread::hardware_concurrency() + 5}; }

TEST(ThreadTeam, EachItemIsHandedOutOnce) {
  for (const size_t size : sizes()) {
    ThreadTeam team(size, usable_cores());
    ASSERT_EQ(team.size(), size);
    for (const size_t count : {0, 1, 2, 3, 15, 16, 17, 100, 1001})
      for (const size_t grain : {1, 2, 3, 16, 64, 5000})
        ASSERT_EQ(visits(team, count, grain), std::vector<int>(count, 1)) << size << " " << count << " " << grain;
  }
}

TEST(ThreadTeam, EachMemberRunsOnce) {
  for (const size_t size : sizes()) {
    ThreadTeam team(size, usable_cores());
    for (int call = 0; call < 200; ++call) {
      std::vector<std::atomic<int>> runs(size);
      team.run([&](size_t member) { ++runs.at(member); });
      ASSERT_EQ(std::vector<int>(runs.begin(), runs.end()), std::vector<int>(size, 1));
    }
  }
}

TEST(ThreadTeam, MemberZeroIsTheCaller) {
  ThreadTeam team(3, usable_cores());
  std::vector<std::thread::id> ids(3);
  team.run([&](size_t member) { ids[member] = std::this_thread::get_id(); });
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_NE(ids[1], ids[0]);
  EXPECT_NE(ids[2], ids[1]);
}

TEST(ThreadTeam, PlainWritesOfACallAreSeenAfterIt) {
  ThreadTeam team(3, usable_cores());
  std::vector<int> values(500);
  for (int call = 1; call <= 300; ++call) {
    team.for_each(values.size(), 7, [&](size_t first, size_t last) {
      for (size_t i = first; i < last; ++i) values[i] += call;
    });
    ASSERT_EQ(values.front(), call * (call + 1) / 2);
    ASSERT_EQ(values, std::vector<int>(values.size(), values.front()));
  }
}

TEST(ThreadTeam, SleepingMembersWake) {
  for (const size_t size : sizes()) {
    ThreadTeam team(size, usable_cores());
    for (int pause = 0; pause < 4; ++pause) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // far longer than members spin
      ASSERT_EQ(visits(team, 100, 1), std::vector<int>(100, 1));
    }
  }
}

TEST(ThreadTeam, UnevenWorkIsFinishedOnReturn) {
  ThreadTeam team(3, usable_cores());
  for (size_t slow = 0; slow < 3; ++slow) {
    std::atomic<int> finished{0};
    team.run([&](size_t member) {
      if (member == slow) std::this_thread::sleep_for(std::chrono::milliseconds(30));
      ++finished;
    });
    ASSERT_EQ(finished, 3);
  }
}

TEST(ThreadTeam, ManyTeamsComeAndGo) {
  for (int i = 0; i < 100; ++i) {
    const auto team = std::make_unique<ThreadTeam>(1 + i % 4, usable_cores());
    if (i % 2 == 0) continue;  // never asked to work
    ASSERT_EQ(visits(*team, 5, 1), std::vector<int>(5, 1));
  }
}

}  // namespace
}  // namespace terrace
