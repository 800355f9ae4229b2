import ProcessTestKit

/// Makes a certificate for localhost that a private authority signs, which it is itself, with its key, both in PEM.
///
/// - Returns: The paths of both in the folder; nil if there is no openssl, or it fails.
public func makeCertificate(in folder: String) -> (certificate: String, key: String)? {
  let (certificate, key) = ("\(folder)/certificate.pem", "\(folder)/key.pem")
  let isMade = succeeds([
    "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
    "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
  ])
  return isMade ? (certificate, key) : nil
}
