// SPDX-License-Identifier: BSD-3-Clause
// `papcoll verify`: proves the static schedules of a catalogue.

#include <papcoll/choice/names/catalogue_entry.hpp>
#include <papcoll/tools/command.hpp>
#include <papcoll/tools/common.hpp>
#include <papcoll/tools/options/json_option.hpp>
#include <papcoll/tools/options/named_schedule.hpp>
#include <papcoll/verify/sweep.hpp>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace papcoll::inline PAPCOLL_ABI {
namespace tool {
namespace {

/// A schedule to prove, and what its row claims.
struct Claim {
  AnySchedule schedule;
  const CatalogueRow* row;
  std::string groups{};  ///< of a hierarchy, in words
};

/// All static schedules of the catalogue, with all parameters that their rows want proven.
std::vector<Claim> all_claims(Catalogue catalogue) {
  std::vector<Claim> claims;
  for (const CatalogueRow& row : catalogue) {
    if (row.plan == nullptr) continue;
    claims.push_back({row.plan(), &row});
    for (std::string_view rest = row.proven_with; !rest.empty();) {
      const std::string_view arguments = rest.substr(0, rest.find(' '));
      claims.push_back({plan_of(row, arguments, catalogue), &row});
      rest.remove_prefix(std::min(rest.size(), arguments.size() + 1));
    }
  }
  return claims;
}

/// Adds the schedule of that name; of a hierarchy, it on several groupings of the ranks. Groups of
/// more than two levels are pairs of those within.
void add_claims(std::vector<Claim>& claims, const std::string& name, int ranks,
                Catalogue catalogue) {
  ParsedName parsed = schedule_to("verify", name, catalogue, ", or leave it out to verify all");
  const auto* const hierarchy = parsed.plan.target<HierarchicalSchedule>();
  if (hierarchy == nullptr) return claims.push_back({std::move(parsed.plan), parsed.row});
  struct Grouping {
    const char* words;
    int (*node_of)(int rank);
  };
  for (const Grouping& g : {Grouping{"nodes of 2", [](int r) { return r / 2; }},
                            Grouping{"nodes of 3", [](int r) { return r / 3; }},
                            Grouping{"3 nodes in turn", [](int r) { return r % 3; }}}) {
    HierarchicalSchedule one = *hierarchy;
    for (int members = ranks; one.groups.size() + 1 < one.parts.size();) {
      std::vector<int>& colours = one.groups.emplace_back();
      for (int m = 0; m < members; ++m) {
        colours.push_back(one.groups.size() == 1 ? g.node_of(m) : m / 2);
      }
      members = Groups::by_colour(colours).count();
    }
    claims.push_back({one, parsed.row, g.words});
  }
}

/// The collectives to prove of it.
std::vector<Collective> to_prove(const Claim& claim) {
  std::vector<Collective> all = collectives_of(*claim.row);
  const auto* const hierarchy = claim.schedule.target<HierarchicalSchedule>();
  if (hierarchy != nullptr && hierarchy->parts.size() > 2) std::erase(all, Collective::alltoall);
  return all;
}

/// One line that is written over, on a terminal, above which others are printed. Any thread may
/// write it.
class ProgressLine {
 public:
  void show(const std::string& text) {
    if (!terminal_) return;
    const std::lock_guard lock(one_at_a_time_);
    std::fprintf(stderr, "\r\033[K%s", text.c_str());
  }
  void print_above(const std::string& lines) {
    const std::lock_guard lock(one_at_a_time_);
    if (terminal_) std::fprintf(stderr, "\r\033[K");
    print(lines);
    std::fflush(stdout);
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) == 1;
  std::mutex one_at_a_time_;
};

/// The results of `n` jobs, which threads share: each takes the next job that is left.
template <class Result> class SharedJobs {
 public:
  /// result_of(i) is called by one of the threads.
  template <class Job>
  SharedJobs(std::size_t n, unsigned threads, const Job& result_of) : outcomes_(n) {
    for (unsigned t = 0; t < threads; ++t) {
      threads_.emplace_back([this, result_of] { run(result_of); });
    }
  }
  SharedJobs(const SharedJobs&) = delete;
  SharedJobs& operator=(const SharedJobs&) = delete;
  /// Jobs that have not begun are left.
  ~SharedJobs() { next_.store(outcomes_.size(), std::memory_order_relaxed); }

  /// Waits for the i-th; throws what it threw.
  Result take(std::size_t i) {
    std::unique_lock lock(changes_);
    done_.wait(lock, [&] { return outcomes_[i].result || outcomes_[i].failure; });
    if (outcomes_[i].failure) std::rethrow_exception(outcomes_[i].failure);
    return std::move(*outcomes_[i].result);
  }

 private:
  struct Outcome {
    std::optional<Result> result;
    std::exception_ptr failure;
  };

  template <class Job> void run(const Job& result_of) {
    // Relaxed: a number is taken once whatever the order; the mutex hands outcomes over.
    for (std::size_t i = 0;
         (i = next_.fetch_add(1, std::memory_order_relaxed)) < outcomes_.size();) {
      Outcome outcome;
      try {
        outcome.result = result_of(i);
      } catch (...) {
        outcome.failure = std::current_exception();
      }
      const std::lock_guard lock(changes_);
      outcomes_[i] = std::move(outcome);
      done_.notify_all();
    }
  }

  std::atomic<std::size_t> next_ = 0;
  std::mutex changes_;  ///< of outcomes_
  std::condition_variable done_;
  std::vector<Outcome> outcomes_;
  std::vector<std::jthread> threads_;  ///< the last member, so that they end first
};

Json index_or_null(std::size_t i) { return i == Verdict::nowhere ? Json{} : Json(i); }

Json reported(const Claim& claim, Collective c, int max_ranks, const Proof& proof) {
  Json fault;
  if (!proof) {
    const Verdict& v = proof.verdict;
    fault = {{"kind", name_of(v.fault)},
             {"call", describe(proof.shape)},
             {"rank", v.rank},
             {"step", index_or_null(v.step)},
             {"element", index_or_null(v.element)},
             {"sentence", v.sentence}};
  }
  Json all{{"collective", name_of(c)},         {"name", claim.schedule.name()},
           {"max_ranks", max_ranks},           {"cases", proof.cases},
           {"proven", proof.verdict.proven()}, {"fault", std::move(fault)}};
  if (!claim.groups.empty()) all["groups"] = claim.groups;
  return all;
}

class VerifyCommand final : public Command {
 public:
  explicit VerifyCommand(Catalogue catalogue) : catalogue_(catalogue) {}

  void add_to(CLI::App& app) {
    command_ = app.add_subcommand(
        "verify", "Prove static schedules right for all ranks, roots and kinds of call");
    constexpr int most_ranks = 1024;
    command_->add_option("--max-ranks", max_ranks_, "Prove 1 to this many ranks")
        ->transform(whole(1, most_ranks))
        ->capture_default_str();
    command_
        ->add_option(
            "ALGORITHM,--algorithm", names_,
            "Only these, such as KNomial:5 or Hierarchical:Linear,Ring (on several groupings)")
        ->check(one_name());
    json_.add_to(*command_, "an array, an object for each schedule and collective");
    constexpr unsigned most_threads = 1024;
    command_->add_option("--jobs", threads_, "Schedules to prove at a time (default: processors)")
        ->transform(whole(1, most_threads));
    command_->footer(
        examples({"verify Ring --max-ranks 8",
                  "verify Hierarchical:KNomial:5,Ring --max-ranks 8 --json=proof.json"}));
  }

  bool is_given() const override { return command_->parsed(); }

  /// The exit status; throws argument_error.
  int run() override {
    std::vector<Claim> claims;
    for (const std::string& name : names_) add_claims(claims, name, max_ranks_, catalogue_);
    if (names_.empty()) claims = all_claims(catalogue_);

    std::vector<std::pair<const Claim*, Collective>> jobs;
    for (const Claim& claim : claims) {
      for (const Collective c : to_prove(claim)) jobs.emplace_back(&claim, c);
    }
    ProgressLine progress;
    const std::string ranks = "1 to " + std::to_string(max_ranks_) + " ranks";
    const auto name_of_job = [&](std::size_t i) {
      const auto& [claim, c] = jobs[i];
      return claim->schedule.name() + " " + std::string(name_of(c)) +
             (claim->groups.empty() ? "" : ", " + claim->groups);
    };
    SharedJobs<Proof> proofs{
        jobs.size(), threads_, [&](std::size_t i) {
          const auto& [claim, c] = jobs[i];
          return verify_up_to(
              claim->schedule, c, max_ranks_,
              [&](int size) {
                progress.show(name_of_job(i) + ": " + std::to_string(size) + " of " + ranks);
              },
              {.contract = claim->row->contract});
        }};
    Json report = Json::array();
    std::size_t proven = 0;
    std::size_t faults = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const std::string what = name_of_job(i);
      const Proof proof = proofs.take(i);
      ++(proof ? proven : faults);
      if (json_.is_given()) {
        report.push_back(reported(*jobs[i].first, jobs[i].second, max_ranks_, proof));
      }
      if (json_.is_alone()) continue;
      if (proof) {
        progress.print_above("proven  " + what + ", " + ranks + ", " + std::to_string(proof.cases) +
                             " cases\n");
      } else {
        progress.print_above("FAULT   " + what + ": " + std::string(name_of(proof.verdict.fault)) +
                             "\n        " + proof.verdict.sentence + "\n        in " +
                             describe(proof.shape) + "\n");
      }
    }
    progress.print_above("");
    if (!json_.write([&] { return report; })) {
      print(std::to_string(proven) + " proven, " + std::to_string(faults) + " at fault\n");
    }
    return faults == 0 ? all_well : found_fault;
  }

 private:
  Catalogue catalogue_;
  CLI::App* command_ = nullptr;
  int max_ranks_ = 32;
  unsigned threads_ = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::string> names_;
  JsonOption json_;
};

}  // namespace

std::unique_ptr<Command> make_verify(CLI::App& app, Catalogue catalogue) {
  auto command = std::make_unique<VerifyCommand>(catalogue);
  command->add_to(app);
  return command;
}

}  // namespace tool
}  // namespace papcoll::inline PAPCOLL_ABI
