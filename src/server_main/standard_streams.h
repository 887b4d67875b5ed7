// Descriptors 0, 1 and 2 of this process.
#pragma once

namespace naru {

// Whoever starts us may have closed some of them (`naru server 2>&-`). Then the next files and sockets would get their
// numbers, and log lines would go into those. So the free ones are taken: reading from standard input and writing to
// standard output fail as they would, and what is written to standard error is dropped. Before anything is opened.
void occupy_standard_streams();

}  // namespace naru
