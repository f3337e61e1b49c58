/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog/fixture.h"

/* The texts of documents: pending with the content, made later, gone with it. */

static uint32_t add_document(struct catalog_txn *txn, uint64_t inode,
			     uint64_t n)
{
	char text[64];
	struct digests d = digests_of(n, text, sizeof(text));
	struct file_identity id = identity_of(n);
	struct file_key key = key_of(inode);
	struct file_record rec;

	d.is_document = true;
	assert_int_equal(catalog_file_set_fresh(txn, &key, &id, &d), 0);
	assert_int_equal(catalog_file_get(txn, &key, &rec), 0);
	return rec.content;
}

static void set_text(struct catalog_txn *txn, uint32_t content,
		     enum text_state state)
{
	const struct content_text text = { .state = state, .date = 7 };
	uint8_t packed[64];

	assert_int_equal(
		catalog_text_set(txn, content, &text, packed,
				 pack_sketch(content, packed, sizeof(packed))),
		0);
}

static struct content_text text_of(struct catalog_txn *txn, uint32_t content)
{
	struct content_text text;

	assert_int_equal(catalog_text_get(txn, content, &text), 0);
	return text;
}

WITH_CATALOG(test_a_text_is_pending_until_it_is_made)
{
	struct catalog_txn *txn = begin_write(*state);
	uint32_t first = add_document(txn, 1, 10), second, found;
	struct content_text text;

	assert_int_equal(set_fresh(txn, 2, 20), 0);
	second = add_document(txn, 3, 30);
	assert_int_equal(text_of(txn, first).state, TEXT_PENDING);
	/* A content that is no document. */
	assert_int_equal(catalog_text_get(txn, first + 1, &text), -ENOENT);

	set_text(txn, first, TEXT_YES);
	text = text_of(txn, first);
	assert_int_equal(text.state, TEXT_YES);
	assert_int_equal(text.date, 7);
	assert_int_equal(text.sketch, second + 1);
	assert_int_equal(catalog_text_owner(txn, text.sketch, &found), 0);
	assert_int_equal(found, first);
	assert_int_equal(catalog_text_owner(txn, first, &found), -ENOENT);
	set_text(txn, second, TEXT_ENCRYPTED);
	assert_int_equal(text_of(txn, second).sketch, 0);
	/* It is made once. */
	set_text(txn, first, TEXT_NONE);
	assert_int_equal(text_of(txn, first).state, TEXT_YES);
	commit(txn);
	check_clean(*state);
}

WITH_CATALOG(test_what_no_program_read_is_tried_again)
{
	struct catalog_txn *txn = begin_write(*state);
	const uint32_t content = add_document(txn, 1, 10);
	uint32_t found;

	set_text(txn, content, TEXT_FAILED);
	assert_int_equal(catalog_text_unreadable(txn, 0, &found), 0);
	assert_int_equal(found, content);
	set_text(txn, content, TEXT_YES);
	assert_int_equal(text_of(txn, content).state, TEXT_YES);
	assert_int_equal(catalog_text_unreadable(txn, 0, &found), -ENOENT);
	commit(txn);
	check_clean(*state);
}

static uint64_t count_failed(struct catalog_txn *txn)
{
	struct catalog_counts counts;

	assert_int_equal(catalog_counts(txn, &counts), 0);
	return counts.failed_texts;
}

/* Not of a format for which there is no program. */
WITH_CATALOG(test_a_text_that_failed_is_counted)
{
	const struct content_text failed = { .state = TEXT_FAILED, .why = 3 };
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_write(f);
	const uint32_t first = add_document(txn, 1, 10),
		       second = add_document(txn, 2, 20),
		       unreadable = add_document(txn, 3, 30);
	struct file_key key = key_of(2);

	set_text(txn, unreadable, TEXT_FAILED);
	assert_int_equal(count_failed(txn), 0);
	assert_int_equal(catalog_text_set(txn, first, &failed, NULL, 0), 0);
	assert_int_equal(catalog_text_set(txn, second, &failed, NULL, 0), 0);
	assert_int_equal(catalog_text_set(txn, second, &failed, NULL, 0), 0);
	commit(txn);
	fixture_close(f);
	fixture_open(f);
	txn = begin_write(f);
	assert_int_equal(count_failed(txn), 2);
	set_text(txn, first, TEXT_YES);
	assert_int_equal(count_failed(txn), 1);
	assert_int_equal(catalog_file_remove(txn, &key), 0);
	assert_int_equal(count_failed(txn), 0);
	commit(txn);
	check_clean(f);
}

WITH_CATALOG(test_another_version_makes_texts_again)
{
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_write(f);
	const uint32_t content = add_document(txn, 1, 10);
	const struct file_key key = key_of(1);

	set_text(txn, content, TEXT_YES);
	assert_int_equal(catalog_text_tell(txn, content, &key), 0);
	commit(txn);
	for (f->options.text_version = 1; f->options.text_version < 3;
	     f->options.text_version++) {
		fixture_close(f);
		fixture_open(f);
		txn = begin_write(f);
		assert_int_equal(text_of(txn, content).state, TEXT_PENDING);
		assert_int_equal(catalog_text_is_told(txn, content, &key), 0);
		set_text(txn, content, TEXT_YES);
		assert_int_equal(catalog_text_tell(txn, content, &key), 0);
		commit(txn);
		check_clean(f);
	}
	/* The same, or none that is made. */
	for (f->options.text_version = 2; f->options.text_version;
	     f->options.text_version -= 2) {
		fixture_close(f);
		fixture_open(f);
		txn = begin_write(f);
		assert_int_equal(text_of(txn, content).state, TEXT_YES);
		commit(txn);
	}
}

WITH_CATALOG(test_a_text_goes_with_its_content)
{
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_write(f);
	const uint32_t content = add_document(txn, 1, 10);
	struct file_key key = key_of(1);
	struct catalog_changes changes;
	struct content_text text;
	uint32_t sketch, found;

	set_text(txn, content, TEXT_YES);
	sketch = text_of(txn, content).sketch;
	assert_int_equal(catalog_commit(txn, &changes), 0);
	assert_int_equal(changes.added_end - changes.added_begin, 2);
	assert_int_equal(changes.added_end - 1, sketch);
	catalog_changes_release(&changes);
	assert_int_equal(catalog_pending_texts(f->c), 0);

	fixture_close(f);
	fixture_open(f);
	txn = begin_write(f);
	assert_int_equal(text_of(txn, content).sketch, sketch);
	assert_int_equal(catalog_file_remove(txn, &key), 0);
	assert_int_equal(catalog_text_get(txn, content, &text), -ENOENT);
	assert_int_equal(catalog_text_owner(txn, sketch, &found), -ENOENT);
	assert_int_equal(catalog_commit(txn, &changes), 0);
	assert_int_equal(changes.removed_count, 2);
	catalog_changes_release(&changes);
	check_clean(f);
}

WITH_CATALOG(test_a_pending_text_is_counted)
{
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_write(f);
	struct file_key key = key_of(1);

	(void)add_document(txn, 1, 10);
	commit(txn);
	assert_int_equal(catalog_pending_texts(f->c), 1);
	fixture_close(f);
	fixture_open(f);
	assert_int_equal(catalog_pending_texts(f->c), 1);
	txn = begin_write(f);
	assert_int_equal(catalog_file_remove(txn, &key), 0);
	commit(txn);
	assert_int_equal(catalog_pending_texts(f->c), 0);
	check_clean(f);
}

WITH_CATALOG(test_the_sketches_of_texts_are_walked_with_all)
{
	struct catalog_txn *txn = begin_write(*state);
	const uint32_t content = add_document(txn, 1, 10);
	struct catalog_walk *walk;
	const uint8_t *packed;
	uint32_t id;
	size_t len;

	set_text(txn, content, TEXT_YES);
	assert_int_equal(set_fresh(txn, 2, 20), 0);
	assert_int_equal(catalog_sketches_begin(txn, &walk), 0);
	assert_int_equal(catalog_sketches_next(walk, &id, &packed, &len), 1);
	assert_int_equal(id, content);
	assert_int_equal(catalog_sketches_next(walk, &id, &packed, &len), 1);
	assert_int_equal(id, content + 1);
	assert_int_equal(catalog_sketches_next(walk, &id, &packed, &len), 1);
	assert_int_equal(id, content + 2);
	catalog_walk_end(walk);
	commit(txn);
	check_clean(*state);
}

/* Whether its content was there before or not. */
WITH_CATALOG(test_a_text_is_told_of_each_file_in_its_turn)
{
	struct fixture *f = *state;
	struct catalog_txn *txn = begin_write(f);
	const uint32_t first = add_document(txn, 1, 10);
	const uint32_t second = add_document(txn, 2, 20);
	struct file_key keys[] = { key_of(1), key_of(2), key_of(3) };
	struct file_key at = { 0 };
	uint32_t content = 0;

	set_text(txn, first, TEXT_YES);
	assert_int_equal(catalog_text_is_told(txn, first, &keys[0]), 0);
	assert_int_equal(catalog_text_tell(txn, first, &keys[0]), 0);
	assert_int_equal(catalog_text_is_told(txn, first, &keys[0]), 1);
	assert_int_equal(add_document(txn, 3, 10), first);
	assert_int_equal(catalog_text_is_told(txn, first, &keys[2]), 0);
	assert_int_equal(catalog_text_untold(txn, &content, &at), 0);
	assert_int_equal(content, first);
	assert_true(file_key_equal(&at, &keys[2]));
	assert_int_equal(catalog_text_untold(txn, &content, &at), 0);
	assert_int_equal(content, second);
	assert_true(file_key_equal(&at, &keys[1]));
	assert_int_equal(catalog_text_untold(txn, &content, &at), -ENOENT);
	commit(txn);
	assert_int_equal(catalog_untold_texts(f->c), 2);
	check_clean(f);

	txn = begin_write(f);
	assert_int_equal(catalog_file_remove(txn, &keys[1]), 0);
	assert_int_equal(catalog_file_remove(txn, &keys[2]), 0);
	commit(txn);
	assert_int_equal(catalog_untold_texts(f->c), 0);
	check_clean(f);
}
