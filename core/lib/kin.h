/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KIN_H
#define KIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * libkin: the similarity digests of kinfs, for other programs.
 *
 *     struct kin_digester *digester;
 *     struct kin_digests *a;
 *
 *     kin_digester_new("simhash,sif,ssdeep", &digester);
 *     kin_digester_update(digester, data, len);
 *     kin_digester_final(digester, &a);
 *     puts(kin_digests_text(a, "ssdeep"));
 *     kin_digests_free(a);
 *     kin_digester_free(digester);
 *
 * A struct kin_digester computes any number of digests of a stream of bytes in
 * one pass, in bounded memory, for one stream after the other.  A struct
 * kin_digests holds the result, or digests that are known as text, and two of
 * them are compared.  The library reads no files and keeps no state of its own.
 *
 * Digests are named as kin(1) names them: sise, simhash, rdc, sif, ssdeep,
 * xxh128, sdhash, tlsh, sha256; "rdc.traits" and "user.rdc.traits"
 * name the same as "rdc".  Texts are those of the extended attributes of kinfs
 * (kinfs-xattrs(7)), bit-exact with the original program where there is one.
 *
 * Functions that can fail return 0 or a negative errno value, and leave what
 * they were to fill as it was.  -EINVAL: a name, a text or an argument is
 * wrong; -EPROTONOSUPPORT: the text is that of an earlier version; -ENODATA: there
 * is no such digest; -ENOMEM.
 *
 * Threads: different objects may be used by different threads at the same time,
 * and an object that no thread changes by several.
 */
struct kin_digester;
struct kin_digests;

/* The version of the library, "0.1.0". */
const char *kin_version(void);

/* The name of digest i, counted from 0; NULL behind the last. */
const char *kin_digest_name(unsigned i);

/* ---- computing ---- */

/* names are separated by commas or colons; NULL: those that kinfs keeps of
 * every file (sise, simhash, rdc, sif, ssdeep, xxh128).  xxh128 is
 * always added.  Memory: about 0.7 MB, and with sdhash 3 % of the stream. */
int kin_digester_new(const char *names, struct kin_digester **out);
void kin_digester_free(struct kin_digester *digester);

/* The next bytes of the stream; how it is cut makes no difference. */
int kin_digester_update(struct kin_digester *digester, const void *data,
			size_t len);

/* The digests of all bytes since the last call; the caller frees them.  The
 * next update begins another stream, also after a failure. */
int kin_digester_final(struct kin_digester *digester, struct kin_digests **out);

/* Forgets the bytes since the last kin_digester_final(). */
void kin_digester_reset(struct kin_digester *digester);

/* ---- results ---- */

/* Without any digest, for kin_digests_set(). */
int kin_digests_new(struct kin_digests **out);
void kin_digests_free(struct kin_digests *digests);

/* The text of a digest, which lives as long as digests; NULL when it is not
 * there: it was not asked for, or the content is too short for it. */
const char *kin_digests_text(const struct kin_digests *digests,
			     const char *name);

/* Bytes of the content; 0 when only texts are known. */
uint64_t kin_digests_size(const struct kin_digests *digests);

/* Sets one digest to what was computed elsewhere. */
int kin_digests_set(struct kin_digests *digests, const char *name,
		    const char *text);

/* ---- comparing ---- */

/*
 * How alike two contents are by the digest that is named: 0 to 100.  sif is the
 * estimate that the listings of kinfs are made of: the percentage of the larger
 * content that the smaller one contains.  xxh128 and sha256 say 100 or 0.
 * -ENODATA also when the two can say nothing, and for tlsh, which has a
 * distance.
 */
int kin_score(const struct kin_digests *a, const struct kin_digests *b,
	      const char *name, int *score_out);

/* The distance of two TLSH digests, 0 (most alike) and more. */
int kin_tlsh_distance(const struct kin_digests *a, const struct kin_digests *b,
		      int *distance_out);

#ifdef __cplusplus
}
#endif

#endif
