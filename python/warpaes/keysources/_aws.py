"""AWS KMS and compatible services: the key never leaves the service. Requires boto3 (``warpaes[keys]``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..exceptions import InvalidUnwrap
from ._client import Client
from ._https import MOST_ANSWER
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

UNKNOWN = {"NotFoundException", "DisabledException", "KMSInvalidStateException", "InvalidKeyUsageException"}
NOT_AUTHENTIC = {"InvalidCiphertextException", "IncorrectKeyException"}
BUSY = {"KeyUnavailableException", "ThrottlingException", "DependencyTimeoutException", "KMSInternalException"}


class _TooLongError(ValueError):
    """The service's answer is too long."""


def _bounded_send(client: Any) -> Callable[..., Any]:
    """Return a handler that sends a boto3 request and limits the length of the answer, because boto3 itself does
    not."""
    from botocore.exceptions import ReadTimeoutError
    from urllib3 import exceptions

    def send(request: Any, **_: Any) -> Any:
        request.stream_output = True
        answer = client._endpoint.http_session.send(request)
        try:
            content = answer.raw.read(MOST_ANSWER + 1)
        except exceptions.TimeoutError as error:
            raise ReadTimeoutError(endpoint_url=request.url, error=error) from None
        except exceptions.HTTPError as error:
            raise ValueError(str(error)) from None
        if len(content) > MOST_ANSWER:
            answer.raw.close()
            raise _TooLongError(f"the answer is longer than {MOST_ANSWER} bytes")
        answer._content = content  # the property `content` also stores it here
        return answer

    return send


class AwsKmsSource(KeySource):
    """``aws-kms://ARN`` or ``aws-kms://alias/NAME``, as in Tink's URLs. boto3 finds the credentials and the
    endpoint."""

    def __init__(self, key: str) -> None:
        """Name the key. ``key`` is its ARN, alias or ID."""
        if not key:
            raise ValueError("aws-kms: must name a key: aws-kms://ARN or aws-kms://alias/NAME")
        self.name = f"aws-kms://{key}"
        self._key = key
        self._client = Client(self.name, self._made)

    def _made(self) -> Any:
        try:
            import boto3
        except ImportError:
            raise UnavailableError(f"{self.name}: requires boto3; run pip install 'warpaes[keys]'") from None
        part = self._key.split(":")
        region = part[3] if part[0] == "arn" and len(part) > 5 else None
        client = boto3.session.Session(region_name=region).client("kms")
        client.meta.events.register("before-send.kms", _bounded_send(client))
        return client

    def _ask(self, operation: str, answer_name: str, associated_data: bytes, **arguments: bytes) -> bytes:
        from botocore import exceptions

        # As in Tink's libraries, no encryption context is sent for empty associated data.
        context = {"associatedData": associated_data.hex()} if associated_data else {}
        try:
            asked = {"KeyId": self._key, "EncryptionContext": context, **arguments}
            answer = self._client.ask(lambda client: getattr(client, operation)(**asked))
            content = answer[answer_name]
        except exceptions.ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", "?"))
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            kind: type[Exception] = KeySourceError
            if code in NOT_AUTHENTIC:
                kind = InvalidUnwrap
            elif code in UNKNOWN:
                kind = UnknownKeyError
            elif code in BUSY or status >= 500:
                kind = UnavailableError
            elif status in (400, 403) and code != "ValidationException":
                kind = DeniedError
            said = printable(str(error.response.get("Error", {}).get("Message", "")))
            if code == str(status):  # boto3 uses the complete answer as the message if it contains no error code
                said = "the answer has no error code"
            raise kind(f"{self.name}: {operation} was refused: {printable(code)}: {said}") from None
        except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError) as error:
            raise DeniedError(f"{self.name}: {printable(str(error))}") from None
        except (exceptions.ResponseStreamingError, exceptions.IncompleteReadError, KeyError) as error:
            raise BadAnswerError(f"{self.name}: the answer is truncated or empty: {printable(str(error))}") from None
        except exceptions.BotoCoreError as error:
            kind = BadAnswerError if type(error).__name__ == "ResponseParserError" else UnavailableError
            raise kind(f"{self.name}: {printable(str(error))}") from None
        except _TooLongError as error:
            raise BadAnswerError(f"{self.name}: {error}") from None
        except (ValueError, TypeError, AttributeError, RecursionError) as error:  # botocore does not convert them
            # The messages of these errors may quote an answer, or a credential that is not valid in a header.
            raise BadAnswerError(
                f"{self.name}: the answer is truncated or not JSON, or a credential is malformed "
                f"({type(error).__name__})"
            ) from None
        if not isinstance(content, bytes) or not content:
            raise BadAnswerError(f"{self.name}: the answer to {operation} has no {answer_name}")
        return content

    def wrap(self, data_key: bytes, associated_data: bytes = b"") -> bytes:
        """Encrypt a data key with the Encrypt operation of KMS."""
        check_length(data_key)
        self._client.get()
        return self._ask("encrypt", "CiphertextBlob", associated_data, Plaintext=data_key)

    def unwrap(self, wrapped: bytes, associated_data: bytes = b"") -> bytes:
        """Decrypt a data key with the Decrypt operation of KMS. KMS uses no other key."""
        self._client.get()
        if not wrapped:
            raise InvalidUnwrap(f"{self.name}: the wrapped key is empty")
        return self._ask("decrypt", "Plaintext", associated_data, CiphertextBlob=wrapped)

    def close(self) -> None:
        """Close the client's connections."""
        self._client.close(lambda client: client.close())
