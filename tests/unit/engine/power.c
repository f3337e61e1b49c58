/* SPDX-License-Identifier: Apache-2.0 */

/*
 * On battery or not, by directories such as the kernel shows, and an engine
 * that hashes only when it is not.
 */

#include "core/queue/power.h"
#include "tests/unit/engine/fixture.h"

struct attribute {
	const char *path; /* SUPPLY/NAME */
	const char *value;
};

struct supplies {
	char base[64];
};

static void set(struct supplies *s, const char *path, const char *value)
{
	char full[256];
	FILE *out;

	(void)snprintf(full, sizeof(full), "%s/%s", s->base, path);
	*strrchr(full, '/') = '\0';
	assert_true(!mkdir(full, 0700) || errno == EEXIST);
	full[strlen(full)] = '/';
	out = fopen(full, "w");
	assert_non_null(out);
	assert_true(fprintf(out, "%s\n", value) > 0);
	assert_int_equal(fclose(out), 0);
}

static void supplies_make(struct supplies *s)
{
	(void)snprintf(s->base, sizeof(s->base), "/tmp/kinfs-power-XXXXXX");
	assert_non_null(mkdtemp(s->base));
}

static void supplies_remove(struct supplies *s)
{
	assert_int_equal(nftw(s->base, remove_one, 16, FTW_DEPTH | FTW_PHYS),
			 0);
}

static bool judged(const struct attribute *attributes, size_t count)
{
	struct supplies s;
	bool battery;
	size_t i;

	supplies_make(&s);
	for (i = 0; i < count; i++)
		set(&s, attributes[i].path, attributes[i].value);
	battery = power_is_battery(s.base);
	supplies_remove(&s);
	return battery;
}

#define JUDGED(...)                                                \
	judged((const struct attribute[]){ __VA_ARGS__ },          \
	       sizeof((const struct attribute[]){ __VA_ARGS__ }) / \
		       sizeof(struct attribute))

static void test_desktop(void **state)
{
	(void)state;
	assert_false(power_is_battery("/nonexistent/power_supply"));
	assert_false(judged(NULL, 0));
	assert_false(JUDGED({ "AC/type", "Mains" }, { "AC/online", "1" }));
	assert_false(JUDGED({ "AC/type", "Mains" }, { "AC/online", "0" }));
}

static void test_laptop(void **state)
{
	(void)state;
	assert_true(JUDGED({ "AC/type", "Mains" }, { "AC/online", "0" },
			   { "BAT0/type", "Battery" },
			   { "BAT0/status", "Discharging" }));
	assert_false(JUDGED({ "AC/type", "Mains" }, { "AC/online", "1" },
			    { "BAT0/type", "Battery" },
			    { "BAT0/status", "Charging" }));
	/* A weak charger: mains all the same. */
	assert_false(JUDGED({ "AC/type", "Mains" }, { "AC/online", "1" },
			    { "BAT0/type", "Battery" },
			    { "BAT0/status", "Discharging" }));
	assert_false(JUDGED({ "AC/type", "Mains" }, { "AC/online", "0" },
			    { "BAT0/type", "Battery" },
			    { "BAT0/status", "Not charging" }));
	/* One of two is being used up. */
	assert_true(JUDGED(
		{ "BAT0/type", "Battery" }, { "BAT0/status", "Full" },
		{ "BAT1/type", "Battery" }, { "BAT1/status", "Discharging" }));
}

static void test_usb_and_ups(void **state)
{
	(void)state;
	assert_false(JUDGED({ "AC/type", "Mains" }, { "AC/online", "0" },
			    { "BAT0/type", "Battery" },
			    { "BAT0/status", "Discharging" },
			    { "ucsi/type", "USB" }, { "ucsi/online", "1" }));
	assert_true(
		JUDGED({ "ups/type", "UPS" }, { "ups/status", "Discharging" }));
}

static void test_batteries_of_devices(void **state)
{
	(void)state;
	assert_false(JUDGED({ "hid/type", "Battery" },
			    { "hid/scope", "Device" },
			    { "hid/status", "Discharging" }));
	assert_true(JUDGED({ "hid/type", "Battery" }, { "hid/scope", "Device" },
			   { "hid/status", "Full" }, { "BAT0/type", "Battery" },
			   { "BAT0/scope", "System" },
			   { "BAT0/status", "Discharging" }));
}

/* What a driver has not, or says at length. */
static void test_unreadable(void **state)
{
	(void)state;
	assert_false(JUDGED({ "BAT0/type", "Battery" }));
	assert_false(JUDGED({ "BAT0/status", "Discharging" }));
	assert_false(JUDGED({ "BAT0/type", "" }, { "AC/type", "Mains" }));
	assert_false(JUDGED(
		{ "BAT0/type", "Battery" },
		{ "BAT0/status", "Discharging, and that for a long time" }));
}

static bool is_paused(struct fixture *f)
{
	json_t *status;
	const char *why;
	bool paused;

	assert_int_equal(engine_status(f->engine, &status), 0);
	why = json_string_value(json_object_get(status, "paused"));
	paused = why && strcmp(why, "battery") == 0;
	json_decref(status);
	return paused;
}

static void open_on_battery(struct fixture *f, struct supplies *s, bool ac_only)
{
	char data[5000];

	supplies_make(s);
	set(s, "BAT0/type", "Battery");
	set(s, "BAT0/status", "Discharging");
	fixture_make(f);
	make_text(data, sizeof(data), 1);
	write_file(f, "one", data, sizeof(data));
	write_file(f, "two", data, sizeof(data));
	f->options.ac_only = ac_only;
	f->options.power_dir = s->base;
	fixture_open(f);
}

static void test_engine_waits_for_mains(void **state)
{
	struct file_digests answer;
	struct supplies s;
	struct fixture f;

	(void)state;
	open_on_battery(&f, &s, true);
	assert_true(is_paused(&f));
	ask_fresh(&f, "one", &answer);
	file_digests_release(&answer);
	assert_false(is_idle(&f));
	engine_pause(f.engine, false);
	assert_true(is_paused(&f));
	set(&s, "BAT0/status", "Charging");
	wait_idle(&f);
	assert_false(is_paused(&f));
	assert_int_equal(hashed_files(&f), 2);
	fixture_remove(&f);
	supplies_remove(&s);
}

static void test_engine_was_not_asked(void **state)
{
	struct supplies s;
	struct fixture f;

	(void)state;
	open_on_battery(&f, &s, false);
	assert_false(is_paused(&f));
	wait_idle(&f);
	fixture_remove(&f);
	supplies_remove(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_desktop),
		cmocka_unit_test(test_laptop),
		cmocka_unit_test(test_usb_and_ups),
		cmocka_unit_test(test_batteries_of_devices),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_engine_waits_for_mains),
		cmocka_unit_test(test_engine_was_not_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
