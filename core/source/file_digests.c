/* SPDX-License-Identifier: Apache-2.0 */
#include "core/source/file_digests.h"

void file_digests_release(struct file_digests *answer)
{
	digests_release(&answer->digests);
}
