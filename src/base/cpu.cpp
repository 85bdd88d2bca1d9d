#include "base/cpu.h"

#include <cpuid.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>

namespace terrace {
namespace {

/// The register state that the system saves (XCR0).
uint64_t enabled_state() {
  uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The CPU share that a version 2 or 1 control group grants, in processors; 0 without a limit.
double cgroup_quota() {
  std::istringstream unified(first_line("/sys/fs/cgroup/cpu.max"));
  double quota = 0, period = 0;
  if (unified >> quota >> period && period > 0) return quota / period;
  std::istringstream quota_file(first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")),
      period_file(first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us"));
  if (quota_file >> quota && period_file >> period && quota > 0 && period > 0) return quota / period;
  return 0;
}

}  // namespace

CpuFeatures cpu_features() {
  CpuFeatures features;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return features;
  const bool fma = c & bit_FMA, f16c = c & bit_F16C;
  const uint64_t state = enabled_state();
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return features;
  features.avx2 = (b & bit_AVX2) && fma && f16c && (state & 0x6) == 0x6;
  const bool foundation = (b & bit_AVX512F) && (b & bit_AVX512BW) && (b & bit_AVX512DQ) && (b & bit_AVX512VL);
  features.avx512 = features.avx2 && foundation && (state & 0xe6) == 0xe6;
  features.avx512_vnni = features.avx512 && (c & bit_AVX512VNNI);
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) features.avx_vnni = features.avx2 && (a & (1U << 4));
  return features;
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return "unknown processor";
}

std::vector<int> usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    std::set<std::string> seen;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &allowed)) continue;
      const std::string siblings =
          first_line("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
      if (siblings.empty() || seen.insert(siblings).second) cores.push_back(cpu);
    }
  }
  if (cores.empty()) cores.push_back(0);
  if (const double quota = cgroup_quota(); quota > 0) {
    cores.resize(std::min(cores.size(), static_cast<size_t>(std::max(1.0, std::floor(quota)))));
  }
  return cores;
}

}  // namespace terrace
