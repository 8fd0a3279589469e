"""S3-compatible object storage with conditional writes, multipart uploads, and recovery from lost responses."""

from __future__ import annotations

import html
import os
import random
import re
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

import boto3
import botocore.exceptions
import botocore.session
import urllib3.exceptions
from botocore.config import Config
from botocore.parsers import ResponseParserError

from .attributes import META, METADATA, TAGS, Attributes, from_headers
from .s3_http import Http
from .storage import (
    PARTS_IN_FLIGHT,
    Attempt,
    ChangedError,
    CredentialsError,
    Entry,
    ExistsError,
    MissingError,
    Names,
    PermanentError,
    Storage,
    Upload,
    part_bytes,
)

MAX_KEY_BYTES = 1024
CONNECTIONS = 64

#: Metadata that identifies the attempt that wrote an object. Metadata is set when an upload begins, so it cannot
#: contain a digest of the content. The attempt's number is sufficient: if an object has it, the attempt succeeded.
ATTEMPT, KEY_ID = "warpaes-attempt", "warpaes-key-id"
#: Maximum total size in bytes of the names and values in an object's metadata.
MAX_METADATA = 2048
#: Maximum number of objects whose attributes are kept until they are requested.
COLLECTED = 4096

#: Pattern of the ETags that may be sent in a request. Some stores omit the quotation marks.
ETAG = re.compile(r"[!-~]{1,1024}")
#: The maximum size that a manifest can represent.
MAX_SIZE = (1 << 63) - 1
#: Maximum number of consecutive pages without an object. A listing with more such pages is considered endless.
EMPTY_PAGES = 100

UPLOAD_ID = re.compile(rb"<UploadId>\s*([^<\s]+)\s*</UploadId>")

Result = TypeVar("Result")

#: Errors that are not retried, because the request is impossible or not permitted.
PERMANENT = {
    "AccessDenied",
    "AllAccessDisabled",
    "EntityTooLarge",
    "InvalidArgument",
    "InvalidObjectState",
    "InvalidRequest",
    "KeyTooLongError",
    "InvalidTag",
    "MetadataTooLarge",
    "MethodNotAllowed",
    "NoSuchBucket",
    "NotImplemented",
    "PermanentRedirect",
}
#: Errors that would affect every object. RequestTimeTooSkewed means that this machine's clock is wrong.
UNKNOWN = {
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidAccessKeyId",
    "InvalidToken",
    "RequestTimeTooSkewed",
    "SignatureDoesNotMatch",
    "TokenRefreshRequired",
}
#: Errors in the client's configuration.
MISTAKES = (
    botocore.exceptions.NoRegionError,
    botocore.exceptions.ParamValidationError,
    botocore.exceptions.ProfileNotFound,
)
NO_CREDENTIALS = (
    botocore.exceptions.CredentialRetrievalError,
    botocore.exceptions.NoCredentialsError,
    botocore.exceptions.PartialCredentialsError,
)
#: All other exceptions that the client may raise if there is no response.
FAILURES = (
    botocore.exceptions.BotoCoreError,
    botocore.exceptions.ClientError,
    ResponseParserError,
    urllib3.exceptions.HTTPError,
    OSError,
)


_loader: Any = None


def _session() -> tuple[boto3.session.Session, str | bool]:
    """Return a session, and the CA certificates that its clients trust: a file, or True for botocore's certificates.

    All sessions share the loader of botocore's data, because loading the data takes half the time of creating a
    session.
    """
    global _loader
    inner = botocore.session.get_session()
    if _loader is None:
        _loader = inner.get_component("data_loader")
    inner.register_component("data_loader", _loader)
    verify = inner.get_config_variable("ca_bundle") or os.environ.get("REQUESTS_CA_BUNDLE") or True
    return boto3.session.Session(botocore_session=inner), verify


def code_of(error: botocore.exceptions.ClientError) -> str:
    """Return the server's error code, or the HTTP status if the response had no body."""
    return str(error.response.get("Error", {}).get("Code", ""))


class S3Storage(Storage):
    """A bucket, a folder in a bucket, or a single object."""

    has_attributes = True

    def __init__(self, path: str, options: dict[str, Any]) -> None:
        """Open a bucket or a part of a bucket.

        Args:
            path: BUCKET, BUCKET/OBJECT or BUCKET/FOLDER. The slash at the end of a folder may be omitted. Further
                slashes are part of its name, as in ``bucket/a//``.
            options: endpoint_url, region_name, timeout in seconds, tries, put (arguments for every write).
        """
        super().__init__()
        self.bucket, _, name = path.partition("/")
        if not self.bucket:
            raise ValueError("s3:// has no bucket; use s3://BUCKET/PREFIX")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValueError(f"s3://{path}: the name is not UTF-8; use a different name") from None
        #: The common prefix of all names: empty, or a folder with a slash at the end.
        self.folder = name if not name or name.endswith("/") else name + "/"
        odd = self.folder == "/" or self.folder.endswith("//")
        self.url = f"s3://{self.bucket}" + (f"/{self.folder if odd else self.folder[:-1]}" if self.folder else "")
        self.put_options: dict[str, str] = dict(options.get("put") or {})
        self._collected: dict[str, tuple[str, Attributes, int]] = {}
        self._classes: Counter[str] = Counter()  #: number of objects in the listing, by storage class
        self.tries = int(options.get("tries") or 8)
        timeout = float(options.get("timeout") or 60)
        timeouts = min(10, timeout), timeout
        # This class counts attempts itself, in order to recognize lost responses.
        retries = {"mode": "standard", "total_max_attempts": 1}
        config = Config(
            connect_timeout=timeouts[0],
            read_timeout=timeouts[1],
            max_pool_connections=CONNECTIONS,
            retries=retries,
        )
        self.endpoint = str(options.get("endpoint_url") or "")
        session, verify = self.call(_session)

        def connect(region: str | None) -> Any:
            return session.client("s3", endpoint_url=options.get("endpoint_url"), region_name=region, config=config)

        self.client = self.call(lambda: connect(options.get("region_name")))
        if not options.get("region_name") and not options.get("endpoint_url"):
            region = self._region()
            if region not in (None, self.client.meta.region_name):
                self.client = connect(region)
        self.http = self.call(
            lambda: Http(self.client, session.get_credentials(), self.bucket, CONNECTIONS, timeouts, verify)
        )
        self.put_headers = self.http.headers(self.put_options)

    def _region(self) -> str | None:
        """Query the bucket's region. Return None without permission for this query; the region must then be
        configured."""
        try:
            answer = self.call(lambda: self.client.head_bucket(Bucket=self.bucket))
        except (MissingError, PermanentError):
            return None
        return str(answer.get("BucketRegion") or "") or None

    def _name(self, key: str) -> str:
        return self.folder + key if key else self.folder.removesuffix("/")

    def place(self) -> tuple[str, str]:
        """Return the endpoint, and the bucket with the folder."""
        return "s3 " + self.endpoint, f"{self.bucket}/{self.folder}"

    def keeps_versions(self) -> bool:
        """Return whether the bucket keeps versions. Without permission to query this, return False."""
        try:
            answer = self.call(lambda: self.client.get_bucket_versioning(Bucket=self.bucket))
        except (MissingError, OSError, PermanentError):
            return False
        return answer.get("Status") in ("Enabled", "Suspended")

    def _say(self, key: str) -> str:
        return f"s3://{self.bucket}/{self._name(key)}"

    def check_key(self, key: str) -> None:
        """Refuse a name that is too long or not UTF-8."""
        try:
            size = len(self._name(key).encode())
        except UnicodeEncodeError:
            raise PermanentError(f"{key!r} is not UTF-8; rename the object") from None
        if size > MAX_KEY_BYTES:
            raise PermanentError(f"the name {self._name(key)[:40]!r}… has {size} bytes, but S3 allows {MAX_KEY_BYTES}")

    # -------------------------------------------------------------------------------------------------- requests

    def call(self, request: Callable[[], Result], key: str = "") -> Result:
        """Send an idempotent request, and repeat it until there is a response."""
        for attempt in range(self.tries):
            try:
                return request()
            except FAILURES as error:
                self.check(error, key)
                if attempt + 1 == self.tries:
                    raise OSError(f"{self._say(key)}: no response after {self.tries} attempts: {error}") from error
            self.pause(attempt)
        raise AssertionError

    @staticmethod
    def pause(attempt: int) -> None:
        """Wait for a random time that increases with each attempt."""
        time.sleep(random.uniform(0.3, 1) * min(20.0, 0.1 * 2**attempt))

    def check(self, error: Exception, key: str) -> None:
        """Raise the error for a response that a retry would not change."""
        if isinstance(error, MISTAKES):
            raise PermanentError(f"{self._say(key)}: {error}") from error
        if isinstance(error, NO_CREDENTIALS):
            raise CredentialsError(f"{self._say(key)}: {error}") from error
        if not isinstance(error, botocore.exceptions.ClientError):
            return
        code = code_of(error)
        if code in ("404", "NoSuchKey"):
            raise MissingError(f"{self._say(key)}: no such object") from error
        if code in ("412", "PreconditionFailed", "416", "InvalidRange"):
            raise ChangedError(f"{self._say(key)} has changed") from error
        if code == "NoSuchUpload":
            raise ConnectionError(f"{self._say(key)}: another process completed or aborted the upload") from error
        if code in UNKNOWN:
            raise CredentialsError(f"{self._say(key)}: {error}") from error
        if code in PERMANENT or code in ("400", "401", "403"):
            raise PermanentError(f"{self._say(key)}: {error}") from error

    # --------------------------------------------------------------------------------------------------- reading

    def list(self, key: str = "") -> Iterator[Entry]:
        """List a folder, or the single object with this name."""
        prefix = self.folder + key
        found = False
        for item in self._pages(self.client.list_objects_v2, {"Prefix": prefix}, "Contents", ["ContinuationToken"]):
            found = True
            self._classes[str(item.get("StorageClass") or "STANDARD")] += 1
            name = str(self._field(item, "Key"))
            if not name.startswith(prefix):
                raise OSError(f"{self._say(key)}: the store lists {name!r}, which does not begin with {prefix!r}")
            entry = self._entry(name[len(self.folder) :], item, "Size")
            if entry.size > 0 or not name.endswith("/"):  # web consoles create empty objects for folders
                if entry.key:
                    yield entry
                else:
                    self.left_out[name] = "an object whose name in the folder is empty"
        if not found and not key and self.folder:
            yield self.stat("")

    def _pages(
        self, ask: Callable[..., dict[str, Any]], arguments: dict[str, str], content: str, marks: Sequence[str]
    ) -> Iterator[dict[str, Any]]:
        """Yield the entries of a listing page by page. `marks` are the arguments from the previous page that request
        the next page."""
        marked: dict[str, str] = {}
        seen: set[int] = set()
        empty = 0
        while True:
            page = self.call(lambda: ask(Bucket=self.bucket, **arguments, **marked))  # noqa: B023
            yield from page.get(content, ())
            if not page.get("IsTruncated"):
                return
            marked = {mark: str(self._field(page, "Next" + mark)) for mark in marks}
            empty = 0 if page.get(content) else empty + 1
            # A repeated page would cause an endless loop.
            number = hash(tuple(marked.values()))
            if number in seen or empty > EMPTY_PAGES:
                raise OSError(
                    f"{self._say('')}: the store's listing does not end, because its pages repeat or are empty"
                )
            seen.add(number)

    def _field(self, answer: Mapping[str, Any], name: str, key: str = "") -> Any:
        """Return a field of a response. Some stores omit fields that S3 sends."""
        if answer.get(name) is None:
            raise OSError(f"{self._say(key)}: the store's response does not contain {name}")
        return answer[name]

    def _entry(self, key: str, answer: dict[str, Any], size: str) -> Entry:
        """Return the entry in a response. An invalid size or ETag is detected when the object is read."""
        claimed = int(self._field(answer, size, key))
        return Entry(key, claimed if 0 <= claimed <= MAX_SIZE else MAX_SIZE, str(self._field(answer, "ETag", key)))

    def _condition(self, name: str, key: str, version: str) -> dict[str, str]:
        """Return an ETag as a header or an argument. Refuse a version that is not an ETag."""
        if not ETAG.fullmatch(version):
            raise PermanentError(f"{self._say(key)}: {version[:40]!r} is not an ETag; list the store again")
        return {name: version}

    def head(self, key: str) -> dict[str, Any]:
        """Return the store's response to a HEAD request for an object."""
        answer: dict[str, Any] = self.call(
            lambda: self.client.head_object(Bucket=self.bucket, Key=self._name(key)), key
        )
        return answer

    def stat(self, key: str) -> Entry:
        """Return an object's size and ETag."""
        if not key and self._name("").endswith("/"):  # a folder without its slash cannot be the name of an object
            raise MissingError(f"{self.url}: no such objects")
        answer = self.head(key)
        return self._entry(key, answer, "ContentLength")

    def read(self, entry: Entry, offset: int, length: int) -> bytes:
        """Read a byte range if the object's ETag matches the entry."""
        headers = self._condition("If-Match", entry.key, entry.version)
        if length == 0 and entry.size > 0:
            return b""
        if (offset, length) != (0, entry.size):
            headers["Range"] = f"bytes={offset}-{offset + length - 1}"

        def get() -> bytes:
            # A store that does not support ranges sends the complete object, which may not fit in memory.
            answer = self.http.send("GET", self._name(entry.key), headers, most=length)
            data: bytes = answer.content
            whole = "content-range" if answer.status_code == 206 else "content-length"
            total = answer.headers.get(whole, "").rpartition("/")[2]
            if total.isdigit() and int(total) != entry.size:
                raise ChangedError(f"{self._say(entry.key)} has {total} bytes, but {entry.size} according to the list")
            if len(data) != length:
                raise ConnectionError(f"only {len(data)} of {length} bytes were received")
            if self.collects and offset == 0:
                if len(self._collected) >= COLLECTED:  # some objects' attributes are never requested
                    self._collected.clear()
                self._collected[entry.key] = entry.version, *_attributes_of(answer.headers)
            return data

        return self.call(get, entry.key)

    def attributes(self, entry: Entry) -> Attributes:
        """Return an object's attributes from the response with its first bytes, or from a request by ETag."""
        version, found, tags = self._collected.pop(entry.key, ("", {}, 0))
        if version != entry.version:
            headers = self._condition("If-Match", entry.key, entry.version)
            answer = self.call(lambda: self.http.send("HEAD", self._name(entry.key), headers), entry.key)
            found, tags = _attributes_of(answer.headers)
        if tags:
            place = {"Bucket": self.bucket, "Key": self._name(entry.key)}
            answer = self.call(lambda: self.client.get_object_tagging(**place), entry.key)
            pairs = sorted((str(tag["Key"]), str(tag["Value"])) for tag in answer.get("TagSet", ()))
            found[TAGS] = urllib.parse.urlencode(pairs)
        return found

    def not_kept(self, replaced: Container[str]) -> Sequence[str]:
        """Return the attributes that copies lose according to the bucket's configuration. Querying the attributes of
        the objects would require a request per object."""
        lost = []
        classes = sorted(self._classes.keys() - {"STANDARD"})
        if classes and "StorageClass" not in replaced:
            lost.append(
                f"the storage class of {', '.join(classes)} objects (--put StorageClass=… sets it for all objects)"
            )
        if self.keeps_versions():
            lost.append("older versions")
        if self._asked("get_object_lock_configuration", "ObjectLockConfiguration").get("ObjectLockEnabled"):
            lost.append("retention periods and legal holds")
        controls = self._asked("get_bucket_ownership_controls", "OwnershipControls", "OwnershipControlsNotFoundError")
        rules = [str(rule.get("ObjectOwnership")) for rule in controls.get("Rules", [{}])] if controls else []
        if any(rule != "BucketOwnerEnforced" for rule in rules):
            lost.append("access lists (ACLs) of objects, which the bucket permits")
        return lost

    def _asked(self, name: str, field: str, none: str = "") -> dict[str, Any]:
        """Return a setting of the bucket, or an empty dictionary if the store does not support or report it.

        `none` is the error code for a bucket without this setting.
        """

        def ask() -> dict[str, Any]:
            try:
                return dict(getattr(self.client, name)(Bucket=self.bucket).get(field) or {})
            except botocore.exceptions.ClientError as error:
                if code_of(error) == none:
                    return {"Rules": [{}]}
                if int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)) < 500:
                    return {}
                raise

        try:
            return self.call(ask)
        except (PermanentError, OSError):
            return {}

    # --------------------------------------------------------------------------------------------------- writing

    def headers(self, attempt: Attempt) -> dict[str, str]:
        """Return the headers of a new object: its attributes and, if the metadata has enough room, the attempt's
        number."""
        attributes = dict(attempt.attributes())
        metadata: dict[str, str] = attributes.pop(METADATA, {})
        for name, value in ((ATTEMPT, attempt.id), (KEY_ID, attempt.key_id)):
            if value and sum(len(a) + len(b) for a, b in (*metadata.items(), (name, value))) <= MAX_METADATA:
                metadata = {**metadata, name: value}
        headers = {f"{META}{name}": value for name, value in metadata.items()}
        return {**self.http.headers(attributes), **headers, **self.put_headers}

    def once(self, request: Callable[[], str], key: str, attempt: Attempt) -> str:
        """Send the request that creates an object. If the response is lost, determine whether the object exists."""
        for number in range(self.tries):
            try:
                return request()
            except FAILURES as error:
                # The response may be that of a second attempt, after the first attempt succeeded.
                try:
                    answer = self.head(key)
                    if answer.get("Metadata", {}).get(ATTEMPT) == attempt.id:
                        return str(self._field(answer, "ETag", key))
                except MissingError:
                    pass
                try:
                    self.check(error, key)
                except (ChangedError, MissingError):
                    raise ExistsError(f"{self._say(key)} already exists or has changed") from error
                if number + 1 == self.tries:
                    raise OSError(f"{self._say(key)}: no response after {self.tries} attempts: {error}") from error
            self.pause(number)
        raise AssertionError

    def put_object(self, key: str, data: bytes | bytearray, replace: str | None, attempt: Attempt) -> str:
        """Write an object in one request."""
        headers = {
            **self.headers(attempt),
            **({"If-None-Match": "*"} if replace is None else self._condition("If-Match", key, replace)),
        }
        return self.once(
            lambda: str(self._field(self.http.send("PUT", self._name(key), headers, data).headers, "ETag", key)),
            key,
            attempt,
        )

    def put(self, key: str, data: bytes, replace: str | None = None) -> str:
        """Write a small object."""
        self.check_key(key)
        return self.put_object(key, data, replace, Attempt())

    def create(self, key: str, size: int, replace: str | None, attempt: Attempt, threads: Executor) -> Upload:
        """Start an upload. Data that fits in one part is sent in one request."""
        self.check_key(key)
        return _S3Upload(self, key, part_bytes(size), replace, attempt, threads)

    def remove(self, entry: Entry) -> None:
        """Remove an object if it is this version."""
        try:
            if self.stat(entry.key).version != entry.version:
                raise ChangedError(f"{self._say(entry.key)} has changed and was not removed")
            condition = self._condition("IfMatch", entry.key, entry.version)
            arguments = {"Bucket": self.bucket, "Key": self._name(entry.key), **condition}
            self.call(lambda: self.client.delete_object(**arguments), entry.key)
        except MissingError:
            return

    def sweep(self, keys: Names) -> int:
        """Abort abandoned multipart uploads of these objects."""
        count = 0

        def ask(**arguments: str) -> dict[str, Any]:
            # Names may contain characters that XML cannot represent.
            page: dict[str, Any] = self.client.list_multipart_uploads(EncodingType="url", **arguments)
            decode = urllib.parse.unquote_plus if page.get("EncodingType") == "url" else str
            uploads = [{**upload, "Key": decode(upload.get("Key", ""))} for upload in page.get("Uploads", ())]
            return {**page, "Uploads": uploads, "NextKeyMarker": decode(page.get("NextKeyMarker", ""))}

        for upload in self._pages(ask, {"Prefix": self.folder}, "Uploads", ["KeyMarker", "UploadIdMarker"]):
            if upload["Key"].removeprefix(self.folder) in keys:
                self.abort(upload["Key"], self._field(upload, "UploadId"))
                count += 1
        return count

    def abort(self, name: str, upload_id: str) -> None:
        """Abort a multipart upload and free its parts."""
        arguments = {"Bucket": self.bucket, "Key": name, "UploadId": upload_id}
        try:
            self.call(lambda: self.client.abort_multipart_upload(**arguments))
        except (MissingError, ConnectionError):  # already completed or aborted
            return


def _attributes_of(headers: Mapping[str, str]) -> tuple[Attributes, int]:
    """Return an object's attributes without tags, and the number of its tags."""
    tags = headers.get("x-amz-tagging-count") or ""
    return from_headers(headers, {ATTEMPT, KEY_ID}), int(tags) if tags.isdecimal() else 0


class _S3Upload(Upload):
    def __init__(
        self, storage: S3Storage, key: str, part: int, replace: str | None, attempt: Attempt, threads: Executor
    ) -> None:
        self._storage, self._key, self._replace, self._attempt = storage, key, replace, attempt
        self._part_bytes = part
        self._threads = threads
        self._buffer = bytearray()
        self._parts: list[Future[dict[str, Any]]] = []
        self._free = threading.Semaphore(PARTS_IN_FLIGHT)
        self._arguments: dict[str, Any] = {"Bucket": storage.bucket, "Key": storage._name(key)}

    def write(self, data: memoryview) -> None:
        while len(data) > 0:
            if len(self._buffer) == self._part_bytes:
                self._send()
            room = self._part_bytes - len(self._buffer)
            self._buffer += data[:room]
            data = data[room:]

    def _send(self) -> None:
        if "UploadId" not in self._arguments:
            headers = {**self._storage.headers(self._attempt), "x-amz-checksum-algorithm": "CRC32"}
            # An attempt whose response is lost leaves an upload, which a later sweep removes.
            answer = self._storage.call(
                lambda: self._storage.http.send("POST", self._arguments["Key"], headers, query="?uploads"), self._key
            )
            found = UPLOAD_ID.search(answer.content)
            fields = {"UploadId": html.unescape(found[1].decode(errors="replace")) if found else None}
            self._arguments["UploadId"] = self._storage._field(fields, "UploadId", self._key)
            self._attempt.uploading(self._arguments["UploadId"])
        self._free.acquire()
        for sent in self._parts:
            if sent.done():
                sent.result()
        part = self._threads.submit(self._send_part, len(self._parts) + 1, self._buffer)
        part.add_done_callback(lambda _: self._free.release())  # also called if the upload of the part never begins
        self._parts.append(part)
        self._buffer = bytearray()

    def _send_part(self, number: int, data: bytearray) -> dict[str, Any]:
        name, query = self._arguments["Key"], {"partNumber": number, "uploadId": self._arguments["UploadId"]}
        answer = self._storage.call(
            lambda: self._storage.http.send("PUT", name, {}, data, "?" + urllib.parse.urlencode(query)), self._key
        )
        part = {"PartNumber": number, "ETag": self._storage._field(answer.headers, "ETag", self._key)}
        checksum = answer.headers.get("x-amz-checksum-crc32")
        return {**part, "ChecksumCRC32": checksum} if checksum else part

    def commit(self) -> str:
        if "UploadId" not in self._arguments:
            return self._storage.put_object(self._key, self._buffer, self._replace, self._attempt)
        if self._buffer:
            self._send()
        arguments = {
            **self._arguments,
            **(
                {"IfNoneMatch": "*"}
                if self._replace is None
                else self._storage._condition("IfMatch", self._key, self._replace)
            ),
            "MultipartUpload": {"Parts": [part.result() for part in self._parts]},
        }
        storage = self._storage
        return storage.once(
            lambda: str(storage._field(storage.client.complete_multipart_upload(**arguments), "ETag", self._key)),
            self._key,
            self._attempt,
        )

    def abort(self) -> None:
        self._buffer = bytearray()
        for part in self._parts:
            part.cancel()
        if "UploadId" in self._arguments:
            # A part that is still in flight would be kept and charged for.
            for part in self._parts:
                if not part.cancelled():
                    part.exception()
            self._storage.abort(self._arguments["Key"], self._arguments["UploadId"])
