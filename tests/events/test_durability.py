"""What a store promises: every configuration of a real server, in a sentence; and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from events.durability import ALLOWED, KINDS, Promise, StoreForgets, allowed, ask, check, run_of
from events.embedded import Embedded
from events.store import Store

pytestmark = pytest.mark.server

CONFIGURATIONS: dict[str, tuple[dict[str, str], str, str]] = {
    "always": ({"appendonly": "yes", "appendfsync": "always"}, "durable", "on the store's disk"),
    "every second": ({"appendfsync": "everysec"}, "lags", "two seconds"),
    "whenever": ({"appendfsync": "no"}, "lags", "half a minute"),
    "not while it rewrites": ({"no-appendfsync-on-rewrite": "yes"}, "lags", "rewrites"),
    "no file": ({"appendonly": "no"}, "forgets", "a restart loses everything."),
    "snapshots only": ({"appendonly": "no", "save": "60 1"}, "forgets", "since its last snapshot"),
    "no file, every second": ({"appendonly": "no", "appendfsync": "everysec"}, "forgets", "restart"),
    **{
        f"evicts {policy}": ({"maxmemory": "1gb", "maxmemory-policy": policy}, "evicts", policy)
        for policy in (
            *("allkeys-lru", "allkeys-lfu", "allkeys-random"),
            *("volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"),
        )
    },
    "a limit without eviction": ({"maxmemory": "1gb", "maxmemory-policy": "noeviction"}, "durable", "disk"),
    "evicts and forgets": ({"appendonly": "no", "maxmemory": "1gb", "maxmemory-policy": "allkeys-lru"}, "evicts", ""),
}
PLAIN = {
    "appendonly": "yes",
    "appendfsync": "always",
    "no-appendfsync-on-rewrite": "no",
    "save": "",
    "maxmemory": "0",
    "maxmemory-policy": "noeviction",
}


@pytest.fixture
def store(real_store: Store) -> Iterator[Store]:
    yield real_store
    for name, value in PLAIN.items():
        real_store.client.config_set(name, value)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_store_is_asked_what_it_promises(store: Store, name: str) -> None:
    settings, keeps, says = CONFIGURATIONS[name]
    for setting, value in {**PLAIN, **settings}.items():
        store.client.config_set(setting, value)
    promise = ask(store)
    assert promise.keeps == keeps
    assert says in promise.sentence and promise.sentence.endswith(".")
    assert promise.server == "Valkey" and not promise.is_old
    if keeps == "durable":
        assert check(promise) is promise
        return
    with pytest.raises(StoreForgets) as refused:
        check(promise)
    assert promise.sentence in str(refused.value)
    if keeps == "evicts":
        for value in ALLOWED:
            with pytest.raises(StoreForgets, match="noeviction"):
                check(promise, value)
    else:
        assert f"ROOKERY_STORE_MAY={keeps}" in str(refused.value)
        check(promise, keeps)


def test_a_policy_that_waits_for_a_limit_is_told(store: Store) -> None:
    store.client.config_set("maxmemory-policy", "allkeys-lru")
    promise = ask(store)
    assert promise.keeps == "durable"
    assert any("throws games away" in remark for remark in promise.remarks)


@pytest.mark.parametrize("hidden", [("-config",), ("-config", "-info")])
def test_what_a_managed_store_will_not_tell_is_unknown(
    store: Store, embedded: Embedded, hidden: tuple[str, ...]
) -> None:
    client: Any = store.client
    client.acl_setuser("managed", enabled=True, passwords=["+secret"], keys=["*"], commands=["+@all", *hidden])
    path = embedded.store_url.removeprefix("unix://").partition("?")[0]
    managed = Store.connect(f"unix://managed:secret@{path}?db=0")
    try:
        promise = ask(managed)
        assert promise.keeps == "unknown" and "CONFIG" in promise.sentence
        with pytest.raises(StoreForgets, match="ROOKERY_STORE_MAY=unknown"):
            check(promise, "forgets")
        check(promise, "unknown")
        run_of(managed)
    finally:
        managed.client.close()
        client.acl_deluser("managed")


def test_a_managed_store_that_evicts_is_found_out_without_config(store: Store, embedded: Embedded) -> None:
    client: Any = store.client
    client.config_set("maxmemory", "1gb")
    client.config_set("maxmemory-policy", "allkeys-lru")
    client.acl_setuser("managed", enabled=True, passwords=["+secret"], keys=["*"], commands=["+@all", "-config"])
    path = embedded.store_url.removeprefix("unix://").partition("?")[0]
    managed = Store.connect(f"unix://managed:secret@{path}?db=0")
    try:
        assert ask(managed).keeps == "evicts"
    finally:
        managed.client.close()
        client.acl_deluser("managed")


@pytest.mark.parametrize(
    ("version", "is_old"), [("6.0.16", True), ("5.0", True), ("6.2.0", False), ("7.4", False), ("9.1.2", False)]
)
def test_an_old_server_is_refused(version: str, is_old: bool) -> None:
    promise = Promise(keeps="durable", sentence="It is durable.", server="Redis", version=version)
    assert promise.is_old == is_old
    if is_old:
        with pytest.raises(StoreForgets, match=r"6\.2 or newer"):
            check(promise)


def test_every_kind_has_its_place() -> None:
    assert set(ALLOWED) == {"", *KINDS} - {"durable", "evicts"}
    with pytest.raises(ValueError, match="ROOKERY_STORE_MAY is one of lags, forgets, unknown"):
        allowed("evicts")
