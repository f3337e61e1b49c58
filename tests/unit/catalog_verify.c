/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/catalog_fixture.h"

#include "core/catalog/catalog_impl.h"
#include "core/catalog/lmdb_format.h"

/*
 * One kind of damage at a time, made on purpose: what LMDB would trip over is
 * seen before it gets the file.
 */
struct sample {
	struct fixture f;
	char path[128];
	uint8_t *bytes;
	uint8_t *damaged;
	size_t len;
	uint8_t *meta; /* the current one, in damaged */
};

static uint8_t *page_at(const struct sample *s, uint64_t number)
{
	return s->damaged + number * lmdb_page_size();
}

static void restore(struct sample *s)
{
	memcpy(s->damaged, s->bytes, s->len);
}

static int verify(struct sample *s)
{
	uint64_t used;

	write_whole(s->path, s->damaged, s->len);
	return verify_file(s->path, &used);
}

static void add_long_signature(struct fixture *f, uint64_t inode, size_t len)
{
	struct catalog_txn *txn = begin_write(f);
	struct file_key key = key_of(inode);
	struct file_identity id = identity_of(inode);
	char text[128];
	struct digests d = digests_of(inode, text, sizeof(text));

	d.text[DIGEST_SISE] = malloc(len + 1);
	assert_non_null(d.text[DIGEST_SISE]);
	memset(d.text[DIGEST_SISE], 'S', len);
	d.text[DIGEST_SISE][len] = '\0';
	assert_int_equal(catalog_file_set_fresh(txn, &key, &id, &d), 0);
	commit(txn);
	free(d.text[DIGEST_SISE]);
}

static int setup_sample(void **state)
{
	struct sample *s = calloc(1, sizeof(*s));
	uint8_t *metas[2];
	uint64_t i;

	assert_non_null(s);
	fixture_init(&s->f);
	fixture_open(&s->f);
	for (i = 0; i < 5; i++)
		assert_int_equal(add_many(s->f.c, 200 * i, 200), 0);
	add_long_signature(&s->f, 5000, 3 * lmdb_page_size());
	fixture_close(&s->f);
	fixture_data_path(&s->f, s->path, sizeof(s->path));
	s->bytes = read_whole(s->path, &s->len);
	s->damaged = malloc(s->len);
	assert_non_null(s->damaged);
	restore(s);
	for (i = 0; i < 2; i++)
		metas[i] = page_at(s, i) + LMDB_PAGE_HEADER_BYTES;
	s->meta = metas[host64(metas[0] + 128) < host64(metas[1] + 128)];
	*state = s;
	return 0;
}

static int teardown_sample(void **state)
{
	struct sample *s = *state;

	fixture_release(&s->f);
	free(s->damaged);
	free(s->bytes);
	free(s);
	return 0;
}

static void add64(uint8_t *p, uint64_t n)
{
	uint64_t v = host64(p) + n;

	memcpy(p, &v, sizeof(v));
}

static void add16(uint8_t *p, int n)
{
	uint16_t v = (uint16_t)(host16(p) + n);

	memcpy(p, &v, sizeof(v));
}

static size_t nodes_of(const uint8_t *page)
{
	return (host16(page + 12) - (size_t)LMDB_PAGE_HEADER_BYTES) / 2;
}

/* A tree's page is one whose loss is seen; others are free. */
static bool in_a_tree(struct sample *s, uint64_t number)
{
	int err;

	memset(page_at(s, number), 0, LMDB_PAGE_HEADER_BYTES);
	err = verify(s);
	restore(s);
	return err == -EUCLEAN;
}

/* Does the damage to every page of a tree and wants it seen each time.  damage
 * says whether the page lends itself to it. */
static void damage_pages(struct sample *s, bool (*damage)(uint8_t *page))
{
	uint64_t n, pages = s->len / lmdb_page_size();
	int done = 0;

	for (n = LMDB_META_PAGES; n < pages; n++) {
		if (!in_a_tree(s, n))
			continue;
		if (damage(page_at(s, n))) {
			done++;
			assert_int_equal(verify(s), -EUCLEAN);
		}
		restore(s);
	}
	assert_true(done > 5);
}

static bool renumber(uint8_t *page)
{
	page[0] ^= 1;
	return true;
}

static bool open_a_gap(uint8_t *page)
{
	if (host16(page + 12) + 2 > host16(page + 14))
		return false;
	add16(page + 14, -2);
	return true;
}

static bool swap_two_nodes(uint8_t *page)
{
	uint8_t *offsets = page + LMDB_PAGE_HEADER_BYTES;
	uint16_t swap;

	if (nodes_of(page) < 3)
		return false;
	memcpy(&swap, offsets + 2, 2);
	memcpy(offsets + 2, offsets + 4, 2);
	memcpy(offsets + 4, &swap, 2);
	return true;
}

static bool lengthen_a_key(uint8_t *page)
{
	add16(page + host16(page + LMDB_PAGE_HEADER_BYTES) + 6, 4096);
	return true;
}

static bool lose_a_node(uint8_t *page)
{
	add16(page + 12, -2);
	return true;
}

static void test_the_sample_is_sound(void **state)
{
	assert_int_equal(verify(*state), 0);
}

static void test_a_page_knows_its_number(void **state)
{
	damage_pages(*state, renumber);
}

static void test_nodes_lie_side_by_side(void **state)
{
	damage_pages(*state, open_a_gap);
}

static void test_keys_ascend(void **state)
{
	damage_pages(*state, swap_two_nodes);
}

static void test_keys_stay_in_their_page(void **state)
{
	damage_pages(*state, lengthen_a_key);
}

static void test_no_node_is_missing(void **state)
{
	damage_pages(*state, lose_a_node);
}

/* The record of the main tree's nth database. */
static uint8_t *database(struct sample *s, size_t n)
{
	uint8_t *root = page_at(s, host64(s->meta + 24 + 48 + 40));
	uint8_t *node = root + host16(root + LMDB_PAGE_HEADER_BYTES + 2 * n);

	assert_true(n < nodes_of(root));
	return node + LMDB_NODE_HEADER_BYTES + host16(node + 6);
}

static void test_database_records_are_what_the_pages_say(void **state)
{
	struct sample *s = *state;
	size_t n;

	for (n = 0; n < DB_COUNT; n++) {
		add16(database(s, n) + 4, MDB_DUPSORT);
		assert_int_equal(verify(s), -EUCLEAN);
		restore(s);
		add64(database(s, n) + 32, 1);
		assert_int_equal(verify(s), -EUCLEAN);
		restore(s);
		add64(database(s, n) + 16, 1);
		assert_int_equal(verify(s), -EUCLEAN);
		restore(s);
		add16(database(s, n) + 6, 1);
		assert_int_equal(verify(s), -EUCLEAN);
		restore(s);
	}
}

/* A list of at least two free pages. */
static uint8_t *free_list(struct sample *s)
{
	uint8_t *root = page_at(s, host64(s->meta + 24 + 40));
	uint8_t *node, *value;
	size_t i;

	for (i = 0; i < nodes_of(root); i++) {
		node = root + host16(root + LMDB_PAGE_HEADER_BYTES + 2 * i);
		value = node + LMDB_NODE_HEADER_BYTES + host16(node + 6);
		if (!(host16(node + 4) & LMDB_NODE_BIG) && host64(value) >= 2)
			return value;
	}
	fail_msg("the sample has no free pages");
	return NULL;
}

static void test_no_page_is_both_free_and_in_use(void **state)
{
	struct sample *s = *state;
	uint8_t *list = free_list(s);
	uint64_t used, pages = s->len / lmdb_page_size();
	uint64_t tried = 0;

	for (used = host64(list + 16) + 1; used < pages; used++) {
		if (!in_a_tree(s, used))
			continue;
		memcpy(list + 8, &used, sizeof(used));
		tried++;
		assert_int_equal(verify(s), -EUCLEAN);
		restore(s);
	}
	assert_true(tried > 0);
}

static void test_free_pages_are_listed_downwards(void **state)
{
	struct sample *s = *state;
	uint8_t *list = free_list(s);
	uint64_t a = host64(list + 8), b = host64(list + 16);

	memcpy(list + 8, &b, 8);
	memcpy(list + 16, &a, 8);
	assert_int_equal(verify(s), -EUCLEAN);
	restore(s);
	add64(list, 1 << 20);
	assert_int_equal(verify(s), -EUCLEAN);
}

static void test_pages_beyond_the_end_must_be_free(void **state)
{
	struct sample *s = *state;

	add64(s->meta + 120, 1);
	assert_int_equal(verify(s), -EUCLEAN);
	restore(s);
	add64(s->meta + 120, UINT64_C(1) << 40);
	assert_int_equal(verify(s), -EUCLEAN);
}

/* A long signature's own pages are first looked at when it goes. */
static void test_a_damaged_long_value_is_found_when_it_is_deleted(void **state)
{
	struct sample *s = *state;
	uint64_t n, pages = s->len / lmdb_page_size();
	struct file_key key = key_of(5000);
	struct catalog_txn *txn;
	int found = 0;

	for (n = LMDB_META_PAGES; n < pages; n++) {
		if (host16(page_at(s, n) + 10) != LMDB_OVERFLOW ||
		    host64(page_at(s, n)) != n)
			continue;
		page_at(s, n)[14] ^= 1;
		found++;
	}
	assert_true(found > 0);
	assert_int_equal(verify(s), 0);
	fixture_open(&s->f);
	txn = begin_write(&s->f);
	assert_int_equal(catalog_file_remove(txn, &key), -EUCLEAN);
	assert_int_equal(catalog_commit(txn, NULL), -EUCLEAN);
	check_clean(&s->f);
}

static void test_long_values_come_and_go(void **state)
{
	struct sample *s = *state;
	struct file_key key = key_of(5000);
	struct catalog_txn *txn;

	fixture_open(&s->f);
	txn = begin_write(&s->f);
	assert_int_equal(catalog_file_remove(txn, &key), 0);
	commit(txn);
	add_long_signature(&s->f, 6000, 100000);
	add_long_signature(&s->f, 6001, 2040);
	check_clean(&s->f);
	fixture_close(&s->f);
	fixture_open(&s->f);
	check_clean(&s->f);
}

/* ---- records ---- */

/* Each record, cut or lengthened by a byte. */
static void test_records_of_a_wrong_length_are_unclean(void **state)
{
	uint8_t bytes[128] = { 0 };
	struct file_record r = { .state = FILE_PENDING };
	struct digests d = { .set = DIGEST_DEFAULT };
	struct catalog_meta m = { .next_content = 1 };
	MDB_val v = { .mv_data = bytes };
	struct file_key key;
	uint32_t id;
	size_t len;

	(void)state;
	for (len = 0; len < sizeof(bytes); len++) {
		v.mv_size = len;
		file_record_store(&r, bytes);
		assert_int_equal(file_record_decode(&v, &r),
				 len == FILE_RECORD_BYTES ? 0 : -EUCLEAN);
		content_store(&d, bytes);
		assert_int_equal(content_decode(&v, &d),
				 len == CONTENT_BYTES ? 0 : -EUCLEAN);
		meta_store(&m, bytes);
		assert_int_equal(meta_decode(&v, &m),
				 len == META_BYTES ? 0 : -EUCLEAN);
		assert_int_equal(file_key_decode(&v, &key),
				 len == FILE_KEY_BYTES ? 0 : -EUCLEAN);
		assert_int_equal(content_id_decode(&v, &id),
				 len == CONTENT_KEY_BYTES ? 0 : -EUCLEAN);
		assert_int_equal(copy_key_decode(&v, &id, &key),
				 len == COPY_KEY_BYTES ? 0 : -EUCLEAN);
	}
}

#define sample_test(name) \
	cmocka_unit_test_setup_teardown(name, setup_sample, teardown_sample)

int main(void)
{
	const struct CMUnitTest tests[] = {
		sample_test(test_the_sample_is_sound),
		sample_test(test_a_page_knows_its_number),
		sample_test(test_nodes_lie_side_by_side),
		sample_test(test_keys_ascend),
		sample_test(test_keys_stay_in_their_page),
		sample_test(test_no_node_is_missing),
		sample_test(test_database_records_are_what_the_pages_say),
		sample_test(test_no_page_is_both_free_and_in_use),
		sample_test(test_free_pages_are_listed_downwards),
		sample_test(test_pages_beyond_the_end_must_be_free),
		sample_test(
			test_a_damaged_long_value_is_found_when_it_is_deleted),
		sample_test(test_long_values_come_and_go),
		cmocka_unit_test(test_records_of_a_wrong_length_are_unclean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
