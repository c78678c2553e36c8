// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/support/Progress.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace fusec {

static bool isTerminal(std::FILE *out) {
  const char *term = std::getenv("TERM");
  return isatty(fileno(out)) && term && std::strcmp(term, "dumb") != 0;
}

static size_t columns(std::FILE *out) {
  winsize size = {};
  if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return 80;
  return size.ws_col;
}

Progress::Progress(std::string title, size_t total, bool quiet, std::FILE *out)
    : title(std::move(title)), total(total), quiet(quiet),
      terminal(isTerminal(out)), out(out) {
  if (!quiet && terminal && total > 0)
    draw();
}

Progress::~Progress() {
  if (!quiet && terminal)
    erase();
}

void Progress::step(const std::string &what) {
  std::lock_guard<std::mutex> lock(mutex);
  ++done;
  last = what;
  if (quiet)
    return;
  if (terminal)
    return draw();
  std::fprintf(out, "%s %zu/%zu: %s\n", title.c_str(), done, total,
               what.c_str());
}

void Progress::message(const std::string &line) {
  std::lock_guard<std::mutex> lock(mutex);
  bool bar = !quiet && terminal;
  if (bar)
    erase();
  std::fprintf(out, "%s\n", line.c_str());
  if (bar)
    draw();
}

void Progress::draw() {
  constexpr size_t width = 24;
  size_t filled = total > 0 ? std::min(width, done * width / total) : width;
  std::string line =
      fmt::format("{} [{}{}] {}/{} {}", title, std::string(filled, '#'),
                  std::string(width - filled, '.'), done, total, last);
  // A wrapped line could not be overwritten.
  line.resize(std::min(line.size(), columns(out) - 1));
  std::fprintf(out, "\r\033[K%s", line.c_str());
  std::fflush(out);
}

void Progress::erase() {
  std::fputs("\r\033[K", out);
  std::fflush(out);
}

} // namespace fusec
