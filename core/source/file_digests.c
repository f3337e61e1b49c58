/* SPDX-License-Identifier: Apache-2.0 */
#include "core/source/file_digests.h"

void engine_answer_release(struct engine_answer *answer)
{
	digests_release(&answer->digests);
}
