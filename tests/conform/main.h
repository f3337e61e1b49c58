/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CONFORM_MAIN_H
#define TESTS_CONFORM_MAIN_H

/* "group/test", in front of every line. */
extern char current_test[];

/* The test's directory past the mount. */
extern char behind_directory[];

#endif
