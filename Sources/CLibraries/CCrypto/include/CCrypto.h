// libcrypto's hashes and random bytes, loaded at first use: linked the ordinary way it costs every start 0.7 ms.
//
// A caller loads it once, and says what is missing if that fails; after that these functions cannot be missing.

#pragma once
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stddef.h>
#include <stdint.h>

#define CCRYPTO_FUNCTIONS(F) \
  F(EVP_Digest) \
  F(EVP_DigestFinal_ex) \
  F(EVP_DigestInit_ex) \
  F(EVP_DigestUpdate) \
  F(EVP_MD_CTX_free) \
  F(EVP_MD_CTX_new) \
  F(EVP_sha256) \
  F(HMAC) \
  F(RAND_bytes)

/// libcrypto's functions; nothing may be called before `ccrypto_load` has succeeded.
struct CCrypto {
#define F(name) __typeof__(&name) _Nonnull name;
  CCRYPTO_FUNCTIONS(F)
#undef F
};
extern struct CCrypto ccrypto __attribute__((swift_attr("nonisolated(unsafe)")));

/// Loads libcrypto once; NULL if it is there, else a sentence saying what to install.
const char *_Nullable ccrypto_load(void);

/// The SHA-256 of some bytes, 32 bytes long; 0 if it fails.
static inline int ccrypto_sha256(const void *_Nullable bytes, size_t count, uint8_t *_Nonnull digest) {
  return ccrypto.EVP_Digest(bytes, count, digest, NULL, ccrypto.EVP_sha256(), NULL);
}

/// The HMAC-SHA256 of some bytes, 32 bytes long; 0 if it fails.
static inline int ccrypto_hmac_sha256(
    const void *_Nullable key, size_t keyCount, const void *_Nullable bytes, size_t count, uint8_t *_Nonnull code) {
  // A key of NULL would mean the key of the call before.
  const void *presentKey = key ? key : "";
  if (keyCount > INT32_MAX) return 0;
  return ccrypto.HMAC(ccrypto.EVP_sha256(), presentKey, (int)keyCount, bytes, count, code, NULL) != NULL;
}

/// Fills memory with random bytes fit for keys; 0 if it fails.
static inline int ccrypto_random(uint8_t *_Nonnull bytes, size_t count) {
  return count <= INT32_MAX && ccrypto.RAND_bytes(bytes, (int)count) == 1;
}

/// A SHA-256 in the making, to be ended by `ccrypto_sha256_free`; NULL if there is no memory.
static inline EVP_MD_CTX *_Nullable ccrypto_sha256_new(void) {
  EVP_MD_CTX *hash = ccrypto.EVP_MD_CTX_new();
  if (hash && !ccrypto.EVP_DigestInit_ex(hash, ccrypto.EVP_sha256(), NULL)) {
    ccrypto.EVP_MD_CTX_free(hash);
    return NULL;
  }
  return hash;
}
static inline int ccrypto_sha256_update(EVP_MD_CTX *_Nonnull hash, const void *_Nullable bytes, size_t count) {
  return ccrypto.EVP_DigestUpdate(hash, bytes, count);
}
/// Writes the 32 bytes of the hash, after which it takes no more.
static inline int ccrypto_sha256_final(EVP_MD_CTX *_Nonnull hash, uint8_t *_Nonnull digest) {
  return ccrypto.EVP_DigestFinal_ex(hash, digest, NULL);
}
static inline void ccrypto_sha256_free(EVP_MD_CTX *_Nullable hash) { ccrypto.EVP_MD_CTX_free(hash); }
