// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The Vala binding: request, wait, release, errors and lists. On the session bus.
// Each check is a line of TAP.

int n_checks = 0;
bool all_good = true;

void check(bool good, string what)
{
    n_checks++;
    all_good = all_good && good;
    print("%s %d - %s\n", good ? "ok" : "not ok", n_checks, what);
}

void check_text(string? got, string expected, string what)
{
    if (got != expected)
        print("# expected %s, got %s\n", expected, got ?? "null");
    check(got == expected, what);
}

async WebLocks.Manager open_bucket(string bucket) throws Error
{
    var agent = new WebLocks.Agent(BusType.SESSION, null);
    check(!agent.connected, "an agent is not connected before it is used");
    check(yield agent.init_async(Priority.DEFAULT, null), "an agent is connected");
    return new WebLocks.Manager(agent, bucket);
}

async void test_requests(WebLocks.Manager manager, WebLocks.Manager other) throws Error
{
    var held = yield manager.request_async("printer", null, null);
    check_text(held.name, "printer", "a lock has its name");
    check(held.held && held.mode == WebLocks.Mode.EXCLUSIVE && held.token > 0, "a lock is held");
    var snapshot = yield other.query_async(null);
    var info = (WebLocks.LockInfo) snapshot.held.get_item(0);
    check_text(info.client_id, ((!) manager.agent.client_id), "the first client holds");
    check(yield held.release_async(null), "a lock is released");
}

async void test_options(WebLocks.Manager manager, WebLocks.Manager other) throws Error
{
    var held = yield manager.request_async("scanner", null, null);
    var options = new WebLocks.Options() { if_available = true };
    check((yield other.request_async("scanner", options, null)) == null,
          "null if it is not available");

    options = new WebLocks.Options() { timeout = 1, why = "to see it fail" };
    try {
        yield other.request_async("scanner", options, null);
        check(false, "a time-out is an error");
    } catch (WebLocks.Error error) {
        check(error is WebLocks.Error.TIMEOUT, "a time-out is an error");
    }

    Error? loss = null;
    held.lost.connect((error) => { loss = error; });
    options = new WebLocks.Options() { steal = true };
    var stolen = yield other.request_async("scanner", options, null);
    /* A lock that is released before it was lost emits no signal. */
    yield until(() => loss != null);
    check(loss is WebLocks.Error.STOLEN, "the holder is notified");
    check(held.get_error() is WebLocks.Error.STOLEN, "the lock has the error");
    stolen.release();
    check(!stolen.held && stolen.get_error() == null, "a lock is released without waiting");
}

async void test_handle(WebLocks.Manager manager, WebLocks.Manager other) throws Error
{
    var handle = manager.prepare("journal", null);
    check(!handle.held && handle.name == "journal", "a handle is prepared");
    check(yield handle.enter_async(null), "a handle is entered");
    check(handle.held && handle.token > 0, "it holds the lock");
    handle.leave();
    var before = handle.token;
    check(handle.enter_sync(null) && handle.token > before, "it is entered again");

    Error? loss = null;
    handle.lost.connect((error) => { loss = error; });
    check((yield other.break_async("journal", null, null)) == 1, "its lock is broken");
    yield until(() => loss != null);
    check(handle.get_error() is WebLocks.Error.STOLEN && !handle.held, "it is notified, and has the error");
    handle.leave();
}

async void test_many(WebLocks.Manager manager) throws Error
{
    var locks = yield manager.request_many_async({ "b", "a", "b" }, null, null);
    check_text(locks.length.to_string(), "2", "several locks at once");
    check_text(locks[0].name + locks[1].name, "ab", "in the order of their names");
    locks = null;
    var left = yield manager.query_async(null);
    check_text(left.held.get_n_items().to_string(), "0", "released with the last reference");
}

delegate bool Condition();

async void until(Condition condition)
{
    while (!condition()) {
        Idle.add(until.callback);
        yield;
    }
}

async void test_monitor(WebLocks.Manager manager, WebLocks.Manager other) throws Error
{
    var held = yield other.request_async("shown", null, null);
    var monitor = yield new WebLocks.Monitor.all_async(manager.agent, null);
    var info = (WebLocks.LockInfo) monitor.held.get_item(0);

    check(monitor.manager == null, "a monitor of all buckets");
    check_text(info.name + info.manager.bucket, "shown" + manager.bucket, "shows a held lock");
    held = null;
    yield until(() => monitor.held.get_n_items() == 0);
}

async void test_claim(WebLocks.Manager manager, WebLocks.Manager other) throws Error
{
    var first = new WebLocks.Claim(manager, "claimed") { reclaim = true };
    var second = new WebLocks.Claim(other, "claimed") { grace = 0 };

    first.start();
    yield until(() => first.held);
    check(first.state == WebLocks.ClaimState.HELD, "a claim is held");
    check(first.@lock.token == first.token, "with its lock");
    check(yield second.take_over_async(null), "a claim is taken over");
    yield until(() => first.holder != null);
    check(first.error is WebLocks.Error.STOLEN, "and waits again, with the reason");
    check(first.holder.token == second.token, "held by the other claim");
    second.stop();
    yield until(() => first.held);
    check(first.error == null, "until it is held again");
    first.stop();
    check(WebLocks.ClaimState.UNAVAILABLE.to_string() == "WEB_LOCKS_CLAIM_STATE_UNAVAILABLE", "without a service");
}

async void test_all() throws Error
{
    var manager = yield open_bucket("org.example.Vala");
    var other = yield open_bucket("org.example.Vala");

    check_text(manager.bucket, "org.example.Vala", "a manager has its bucket");
    yield test_requests(manager, other);
    yield test_options(manager, other);
    yield test_handle(manager, other);
    yield test_many(manager);
    yield test_monitor(manager, other);
    yield test_claim(manager, other);
}

int main()
{
    var loop = new MainLoop();

    test_all.begin((source, result) => {
        try {
            test_all.end(result);
        } catch (Error error) {
            print("# %s\n", error.message);
            check(false, "no other error");
        }
        loop.quit();
    });
    loop.run();
    print("1..%d\n", n_checks);
    return all_good ? 0 : 1;
}
