"""Kubeconfigs as clusters hand them out, and what is wrong with others."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from apportion.base import InputError
from apportion.client.address import ServerAddress, read_service_account
from apportion.client.kubeconfig import read_kubeconfig

Tree = dict[str, Any]


def config(cluster: Tree | None = None, user: Tree | None = None, **more: Any) -> Tree:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": "https://k8s.example:6443/", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u"}},
            {"name": "bare", "context": {"cluster": "c"}},
            {"name": "lost", "context": {"cluster": "nowhere", "user": "u"}},
        ],
        **more,
    }


def write(folder: Path, tree: Any) -> str:
    path = folder / "config"
    path.write_text(tree if isinstance(tree, str) else yaml.safe_dump(tree))
    return str(path)


def encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_inline_data_and_files_beside_the_kubeconfig_are_read(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("KEY")
    user = {"client-certificate-data": encode("CERT"), "client-key": "key.pem", "tokenFile": "token"}
    cluster = {"certificate-authority-data": encode("CA"), "tls-server-name": "api", "proxy-url": "http://p:1"}
    assert read_kubeconfig(write(tmp_path, config(cluster, user))) == ServerAddress(
        "https://k8s.example:6443",
        token_file=str(tmp_path / "token"),
        ca="CA",
        client_certificate="CERT",
        client_key="KEY",
        tls_server_name="api",
        proxy_url="http://p:1",
    )


def test_a_context_can_be_named_and_may_have_no_user(tmp_path: Path) -> None:
    path = write(tmp_path, config({"insecure-skip-tls-verify": True}, {"token": "t"}))
    assert (read_kubeconfig(path).token, read_kubeconfig(path, "bare").token) == ("t", "")
    assert read_kubeconfig(path).is_insecure


def test_secrets_are_not_shown() -> None:
    address = ServerAddress("https://h", token="s3cret", client_certificate="c3rt", client_key="k3y")
    assert not any(secret in repr(address) for secret in ("s3cret", "c3rt", "k3y"))


@pytest.mark.parametrize(
    ("tree", "context", "text"),
    [
        (config(), "nowhere", "contexts: there is no context 'nowhere'; known: here, bare, lost"),
        (config(), "lost", "clusters: there is no cluster 'nowhere'; known: c"),
        (config(**{"current-context": None}), "", "current-context: is not set"),
        (config(contexts={}), "", "contexts: there is no context 'here'; known: none"),
        (config(contexts={"a": 1}), "", "contexts: must be a list"),
        (config({"server": None}), "", "clusters[0].cluster.server: is not set"),
        (config({"server": "k8s.example"}), "", "must be http://HOST or https://HOST"),
        (config({"server": "https://h:port"}), "", "server 'https://h:port'"),
        (config({"certificate-authority-data": "!"}), "", "certificate-authority-data: is not PEM in base64"),
        (config({"certificate-authority": "none.pem"}), "", "clusters[0].cluster.certificate-authority"),
        (config({"insecure-skip-tls-verify": "yes"}), "", "insecure-skip-tls-verify: must be true or false"),
        (config(user={"exec": {"command": "aws"}}), "", "users[0].user.exec: credential plugins are not supported"),
        (config(user={"token": 5}), "", "users[0].user.token: must be text"),
        (config(user={"client-certificate-data": encode("x")}), "", "a client certificate needs its key"),
        ("{", "", "is not YAML"),
        ("text", "", "is not a kubeconfig"),
    ],
)
def test_what_is_wrong_is_named(tree: Any, context: str, text: str, tmp_path: Path) -> None:
    path = write(tmp_path, tree)
    with pytest.raises(InputError) as error:
        read_kubeconfig(path, context)
    assert str(error.value).startswith(f"kubeconfig {path}: ") and text in str(error.value)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(InputError, match="/missing/file: No such file"):
        read_kubeconfig("/missing/file")


@pytest.mark.parametrize("field", ["ca", "client"])
def test_unusable_certificates_are_named(field: str) -> None:
    more = {"ca": "nonsense"} if field == "ca" else {"client_certificate": "x", "client_key": "y"}
    with pytest.raises(InputError, match="https://h cannot be used"):
        ServerAddress("https://h", **more).make_ssl_context()


def test_a_pod_finds_its_service_account(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("CA")
    (tmp_path / "token").write_text("first\n")
    address = read_service_account("fd00::1", "443", str(tmp_path))
    assert (address.url, address.ca, address.read_token()) == ("https://[fd00::1]:443", "CA", "first")
    (tmp_path / "token").write_text("second\n")
    assert address.read_token() == "second"
    with pytest.raises(InputError, match="KUBERNETES_SERVICE_HOST"):
        read_service_account("", "")
