"""AWS KMS and compatible services: the key never leaves the service. Needs boto3 (``warpaes[keys]``)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..exceptions import InvalidUnwrap
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


def _bounded_send(client: Any) -> Callable[..., Any]:
    """Return a handler that sends a boto3 request; boto3 itself would read an answer of any length."""
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
            raise ValueError(f"it is longer than {MOST_ANSWER} bytes")
        answer._content = content  # as its property `content` does
        return answer

    return send


class AwsKmsSource(KeySource):
    """``aws-kms://ARN`` or ``aws-kms://alias/NAME``, like Tink's URLs; boto3 finds the credentials and the endpoint."""

    def __init__(self, key: str) -> None:
        """``key``: its ARN, its alias or its ID."""
        if not key:
            raise ValueError("aws-kms: must name a key: aws-kms://ARN or aws-kms://alias/NAME")
        self.name = f"aws-kms://{key}"
        self._key = key
        self._lock = threading.Lock()
        self._client: Any = None

    def _opened(self) -> Any:
        with self._lock:
            if self._client is None:
                try:
                    import boto3
                except ImportError:
                    raise UnavailableError(f"{self.name}: needs boto3: pip install 'warpaes[keys]'") from None
                part = self._key.split(":")
                region = part[3] if part[0] == "arn" and len(part) > 5 else None
                client = boto3.session.Session(region_name=region).client("kms")
                client.meta.events.register("before-send.kms", _bounded_send(client))
                self._client = client
            return self._client

    def _ask(self, operation: str, answer_name: str, associated_data: bytes, **arguments: bytes) -> bytes:
        from botocore import exceptions

        # As in Tink's libraries, empty associated data means no context.
        context = {"associatedData": associated_data.hex()} if associated_data else {}
        try:
            answer = getattr(self._opened(), operation)(KeyId=self._key, EncryptionContext=context, **arguments)
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
            raise kind(f"{self.name}: {operation} is refused: {printable(code)}: {said}") from None
        except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError) as error:
            raise DeniedError(f"{self.name}: {error}") from None
        except (exceptions.ResponseStreamingError, exceptions.IncompleteReadError, KeyError) as error:
            raise BadAnswerError(f"{self.name}: the answer is cut off or none: {error}") from None
        except exceptions.BotoCoreError as error:
            kind = BadAnswerError if type(error).__name__ == "ResponseParserError" else UnavailableError
            raise kind(f"{self.name}: {error}") from None
        except (ValueError, TypeError, AttributeError, RecursionError) as error:  # botocore's parser lets them through
            raise BadAnswerError(
                f"{self.name}: the answer is cut off or is not JSON: {printable(str(error))}"
            ) from None
        if not isinstance(content, bytes) or not content:
            raise BadAnswerError(f"{self.name}: the answer to {operation} has no {answer_name}")
        return content

    def wrap(self, data_key: bytes, associated_data: bytes = b"") -> bytes:
        """Encrypt with KMS's Encrypt."""
        check_length(data_key)
        self._opened()
        return self._ask("encrypt", "CiphertextBlob", associated_data, Plaintext=data_key)

    def unwrap(self, wrapped: bytes, associated_data: bytes = b"") -> bytes:
        """Decrypt with KMS's Decrypt, only under this key."""
        self._opened()
        if not wrapped:
            raise InvalidUnwrap(f"{self.name}: there is no wrapped key")
        return self._ask("decrypt", "Plaintext", associated_data, CiphertextBlob=wrapped)

    def close(self) -> None:
        """Close its connections."""
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = None
