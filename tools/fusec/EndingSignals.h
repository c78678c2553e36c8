// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How SIGHUP, SIGINT and SIGTERM end the program.

#ifndef FUSEC_TOOLS_ENDINGSIGNALS_H
#define FUSEC_TOOLS_ENDINGSIGNALS_H

namespace fusec {

/// Gives each of them that is not ignored a thread that does nothing else, so
/// that no handler finds a thread at work: while NVRTC compiles, its own call
/// exit(), which hangs where the signal came in malloc(). In such a thread
/// exit() removes unfinished files and ends the process by the signal. To be
/// called before there are other threads.
void giveEndingSignalsThreads();

} // namespace fusec

#endif // FUSEC_TOOLS_ENDINGSIGNALS_H
