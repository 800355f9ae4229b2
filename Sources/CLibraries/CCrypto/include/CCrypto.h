// libcrypto's hashes and random bytes, loaded at first use: linked the ordinary way it costs every start 0.7 ms.
//
// A caller loads it once, and says what is missing if that fails; after that these functions cannot be missing.

//
// SHA-256 is computed by the functions below EVP: these begin with the library's configuration and its providers, which
// takes 1 ms and 1.8 MB for the same hash. OpenSSL 3 calls them deprecated, and libcrypto.so.3 has them for good.

#pragma once
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define CCRYPTO_FUNCTIONS(F) \
  F(CRYPTO_memcmp) \
  F(EVP_DigestVerify) \
  F(EVP_DigestVerifyInit) \
  F(EVP_MD_CTX_free) \
  F(EVP_MD_CTX_new) \
  F(EVP_PKEY_free) \
  F(EVP_PKEY_new_raw_public_key) \
  F(EVP_sha256) \
  F(HMAC) \
  F(RAND_bytes) \
  F(SHA256_Final) \
  F(SHA256_Init) \
  F(SHA256_Update)

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
  SHA256_CTX hash;
  return ccrypto.SHA256_Init(&hash) && ccrypto.SHA256_Update(&hash, bytes, count) && ccrypto.SHA256_Final(digest, &hash);
}

/// The HMAC-SHA256 of some bytes, 32 bytes long; 0 if it fails.
static inline int ccrypto_hmac_sha256(
    const void *_Nullable key, size_t keyCount, const void *_Nullable bytes, size_t count, uint8_t *_Nonnull code) {
  // A key of NULL would mean the key of the call before.
  const void *presentKey = key ? key : "";
  if (keyCount > INT32_MAX) return 0;
  return ccrypto.HMAC(ccrypto.EVP_sha256(), presentKey, (int)keyCount, bytes, count, code, NULL) != NULL;
}

/// Whether two pieces of memory are the same, in a time that doesn't depend on where they differ.
static inline int ccrypto_equal(const void *_Nonnull one, const void *_Nonnull other, size_t count) {
  return ccrypto.CRYPTO_memcmp(one, other, count) == 0;
}

/// Whether 64 bytes are the signature by Ed25519 of some bytes; the public key is 32 bytes long.
static inline int ccrypto_ed25519_verify(
    const uint8_t *_Nonnull key, const uint8_t *_Nonnull signature, const uint8_t *_Nullable bytes, size_t count) {
  EVP_PKEY *loaded = ccrypto.EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, 32);
  EVP_MD_CTX *context = loaded ? ccrypto.EVP_MD_CTX_new() : NULL;
  int isValid = context && ccrypto.EVP_DigestVerifyInit(context, NULL, NULL, NULL, loaded) == 1 &&
                ccrypto.EVP_DigestVerify(context, signature, 64, bytes, count) == 1;
  ccrypto.EVP_MD_CTX_free(context);
  ccrypto.EVP_PKEY_free(loaded);
  return isValid;
}

/// Fills memory with random bytes fit for keys; 0 if it fails.
static inline int ccrypto_random(uint8_t *_Nonnull bytes, size_t count) {
  return count <= INT32_MAX && ccrypto.RAND_bytes(bytes, (int)count) == 1;
}

/// A SHA-256 in the making.
struct CCryptoSHA256;

/// Begins a SHA-256, to be ended by `ccrypto_sha256_free`; NULL if there is no memory.
static inline struct CCryptoSHA256 *_Nullable ccrypto_sha256_new(void) {
  SHA256_CTX *hash = malloc(sizeof *hash);
  if (hash && !ccrypto.SHA256_Init(hash)) {
    free(hash);
    return NULL;
  }
  return (struct CCryptoSHA256 *)hash;
}
static inline int ccrypto_sha256_update(
    struct CCryptoSHA256 *_Nonnull hash, const void *_Nullable bytes, size_t count) {
  return ccrypto.SHA256_Update((SHA256_CTX *)hash, bytes, count);
}
/// Writes the 32 bytes of the hash, after which it takes no more.
static inline int ccrypto_sha256_final(struct CCryptoSHA256 *_Nonnull hash, uint8_t *_Nonnull digest) {
  return ccrypto.SHA256_Final(digest, (SHA256_CTX *)hash);
}
static inline void ccrypto_sha256_free(struct CCryptoSHA256 *_Nullable hash) { free(hash); }
