"""Google Cloud KMS: the key never leaves the service. Requires google-cloud-kms (``warpaes[gcp]``)."""

from __future__ import annotations

import re
from typing import Any

from ..exceptions import InvalidUnwrap
from ._client import MOST_KEY_ANSWER, Client
from ._source import (
    BadAnswerError,
    DeniedError,
    KeySource,
    KeySourceError,
    UnavailableError,
    UnknownKeyError,
    check_length,
    printable,
)

#: The timeout of a request in seconds. Requests are not retried.
TIMEOUT = 30
_PART = r"[0-9A-Za-z][0-9A-Za-z._:-]{0,127}"
_NAME = re.compile(f"projects/{_PART}/locations/{_PART}/keyRings/{_PART}/cryptoKeys/{_PART}")
_HERE = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?")
_POLYNOMIAL = 0x82F63B78


def crc32c(data: bytes) -> int:
    """Return the CRC-32C of bytes, which the service verifies."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
    return value ^ 0xFFFFFFFF


class GcpKmsSource(KeySource):
    """``gcp-kms://projects/…/cryptoKeys/NAME``, as in Tink's URLs. Google's client finds the credentials.

    ``gcp-kms+http://HOST:PORT/projects/…`` names a server on this machine and uses neither TLS nor credentials.
    """

    def __init__(self, url: str) -> None:
        """Parse the complete URL."""
        scheme, _, rest = url.partition("://")
        self._host, name = "", rest
        if scheme == "gcp-kms+http":
            self._host, _, name = rest.partition("/")
            if not _HERE.fullmatch(self._host):
                raise ValueError(
                    "gcp-kms+http: allowed only for a server on this machine, because keys are sent unencrypted"
                )
        if not _NAME.fullmatch(name):
            raise ValueError(
                "gcp-kms: must be gcp-kms://projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/NAME"
            )
        self.name = url
        self._key = name
        self._client = Client(url, self._made)

    def _made(self) -> Any:
        try:
            from google.auth import exceptions
            from google.cloud import kms_v1
        except ImportError:
            raise UnavailableError(f"{self.name}: requires google-cloud-kms; run pip install 'warpaes[gcp]'") from None
        try:
            if self._host:
                import grpc
                from google.cloud.kms_v1.services.key_management_service import transports

                channel = grpc.insecure_channel(self._host, options=[("grpc.enable_http_proxy", 0)])
                transport = transports.KeyManagementServiceGrpcTransport(channel=channel)
                return kms_v1.KeyManagementServiceClient(transport=transport)
            return kms_v1.KeyManagementServiceClient()
        except exceptions.GoogleAuthError as error:
            raise DeniedError(f"{self.name}: {printable(str(error))}") from None

    def _ask(self, operation: str, request: dict[str, Any]) -> Any:
        self._client.get()
        from google.api_core import exceptions as answers
        from google.auth import exceptions

        try:
            asked = {"name": self._key, **request}
            return self._client.ask(lambda client: getattr(client, operation)(asked, timeout=TIMEOUT, retry=None))
        except answers.GoogleAPICallError as error:
            kind: type[Exception] = KeySourceError
            if isinstance(error, (answers.Unauthenticated, answers.PermissionDenied, answers.Forbidden)):
                kind = DeniedError
            elif isinstance(error, (answers.NotFound, answers.FailedPrecondition)):
                kind = UnknownKeyError
            elif isinstance(error, answers.InvalidArgument) and operation == "decrypt":
                kind = InvalidUnwrap
            elif isinstance(error, (answers.TooManyRequests, answers.ServerError)):
                kind = UnavailableError
            raise kind(f"{self.name}: {operation} was refused: {printable(str(error))}") from None
        except exceptions.TransportError as error:
            raise UnavailableError(f"{self.name}: {printable(str(error))}") from None
        except exceptions.GoogleAuthError as error:
            raise DeniedError(f"{self.name}: {printable(str(error))}") from None

    def wrap(self, data_key: bytes, associated_data: bytes = b"") -> bytes:
        """Encrypt a data key with the Encrypt operation of Cloud KMS. Checksums detect corruption in transit."""
        check_length(data_key)
        answer = self._ask(
            "encrypt",
            {
                "plaintext": data_key,
                "additional_authenticated_data": associated_data,
                "plaintext_crc32c": crc32c(data_key),
                "additional_authenticated_data_crc32c": crc32c(associated_data),
            },
        )
        wrapped = bytes(answer.ciphertext)
        if not answer.verified_plaintext_crc32c or not answer.verified_additional_authenticated_data_crc32c:
            raise BadAnswerError(f"{self.name}: the key or the associated data was altered on the way to the service")
        if not 0 < len(wrapped) <= MOST_KEY_ANSWER or crc32c(wrapped) != answer.ciphertext_crc32c:
            raise BadAnswerError(f"{self.name}: the answer to encrypt was altered in transit")
        return wrapped

    def unwrap(self, wrapped: bytes, associated_data: bytes = b"") -> bytes:
        """Decrypt a data key with the Decrypt operation of Cloud KMS."""
        if not 0 < len(wrapped) <= MOST_KEY_ANSWER:
            raise InvalidUnwrap(
                f"{self.name}: a wrapped key must have 1 to {MOST_KEY_ANSWER} bytes, but this key has {len(wrapped)}"
            )
        answer = self._ask(
            "decrypt",
            {
                "ciphertext": wrapped,
                "additional_authenticated_data": associated_data,
                "ciphertext_crc32c": crc32c(wrapped),
                "additional_authenticated_data_crc32c": crc32c(associated_data),
            },
        )
        data_key = bytes(answer.plaintext)
        if not 0 < len(data_key) <= MOST_KEY_ANSWER or crc32c(data_key) != answer.plaintext_crc32c:
            raise BadAnswerError(f"{self.name}: the answer to decrypt was altered in transit")
        return data_key

    def close(self) -> None:
        """Close the client's connections."""
        self._client.close(lambda client: client.transport.close())
