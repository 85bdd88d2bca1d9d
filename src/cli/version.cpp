#include "cli/version.h"

#include "base/cpu.h"
#include "compute/cpu/cpu_backend.h"

namespace terrace::cli {

std::string version_text() {
  std::string sets;
  for (const compute::Kernels* kernels : compute::usable_kernels())
    sets += std::string(sets.empty() ? "" : ", ") + kernels->name;
  return fmt::format("terrace {}\n{}, {} usable cores\ninstruction sets, best first: {}", TERRACE_VERSION, cpu_name(),
                     usable_cores().size(), sets);
}

}  // namespace terrace::cli
