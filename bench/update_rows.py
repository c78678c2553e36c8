# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether rows that change while threads read them are ever half old.

    bench/large_tables.py tables.onnx --gigabytes=50
    fusec compile tables.onnx --updatable='table_*' -o tables.fusec
    bench/update_rows.py tables.fusec --device-memory=15e9 --seconds=30

Eight threads look rows up, each on a stream of its own, while rows on the device,
in memory of the host and on both sides of the boundary are changed by another
stream, in turn from memory of either. An update waits for the runs that were
enqueued before it, and those behind it for the update, by events. Elements count
up along each row, modulo 2039, and version v of a row adds v to each: one that is
half old does not count up, and each row read must have the version that the order
of streams says. Needs torch with a device, and libfusec_rt.so."""

import argparse
import json
import threading
import time

import torch

import builds
import fusec_runtime

PERIOD = 2039
DTYPES = {fusec_runtime.DTYPES["f16"]: ("f16", torch.float16),
          fusec_runtime.DTYPES["f32"]: ("f32", torch.float32)}


class Tables:
    """The loaded model and the rows of each table that change."""

    def __init__(self, options):
        self.model = fusec_runtime.Library(options.library).load(
            options.bundle, deviceMemory=int(options.device_memory))
        infos = {info.name.decode(): info for info in self.model.tables()}
        self.names = [f"table_{table}" for table in range(len(infos))]
        self.infos = [infos[name] for name in self.names]
        self.dtype, self.torchDtype = DTYPES[self.infos[0].dtype]
        self.rows = self.infos[0].rows
        self.width = self.infos[0].bytes // self.rows // self.torchDtype.itemsize
        self.device = torch.device(options.device)
        changed = [pickChanged(info) for info in self.infos]
        count = min(map(len, changed))
        self.changed = torch.tensor([rows[:count] for rows in changed], device=self.device)

    def bind(self, ids, out):
        """A session that reads these rows of all tables, [batch, tables]."""
        session = self.model.session()
        session.bindInput(0, ids.data_ptr(), "i64", ids.shape)
        session.bindOutput(0, out.data_ptr(), self.dtype, out.shape)
        session.prepare()
        return session

    def makeOut(self, batch):
        return torch.full([batch, len(self.names) * self.width], float("nan"),
                          dtype=self.torchDtype, device=self.device)

    def countHost(self):
        """Of the rows that change, those in memory of the host."""
        limits = torch.tensor([[info.device_rows] for info in self.infos], device=self.device)
        return (self.changed >= limits).sum(1).tolist()


def pickChanged(info, count=256):
    """Scattered rows of both parts, and neighbours across the boundary."""
    rows, onDevice = info.rows, info.device_rows
    spread = lambda begin, end: range(begin, end, max((end - begin) // count, 1))
    first = min(max(onDevice - count // 2, 0), max(rows - count, 0))
    picked = {*spread(0, onDevice), *range(first, min(first + count, rows)),
              *spread(onDevice, rows), rows - 1}
    return sorted(picked)


class Reader:
    """A thread's stream, ids and sessions; what is wrong is counted on the device."""

    def __init__(self, tables, versions, batch, seed):
        self.tables, self.versions = tables, versions
        self.stream, self.done = torch.cuda.Stream(), torch.cuda.Event()
        self.reset()
        self.out, self.seen = tables.makeOut(batch), versions.clone()
        generator = torch.Generator(device=tables.device).manual_seed(seed)
        self.sets = [self.makeSet(batch, generator) for _ in range(4)]

    def reset(self):
        self.runs = 0
        self.torn, self.other, self.changedRead = (
            torch.zeros([], dtype=torch.int64, device=self.tables.device) for _ in range(3))

    def makeSet(self, batch, generator):
        """Half of the ids are of rows that change."""
        tables = self.tables
        count, size = len(tables.names), [batch, len(tables.names)]
        draw = lambda limit: torch.randint(limit, size, generator=generator, device=tables.device)
        columns = torch.arange(count, device=tables.device)
        ids = torch.where(draw(2) == 0, tables.changed[columns, draw(tables.changed.shape[1])],
                          draw(tables.rows))
        hot = torch.stack([torch.isin(ids[:, table], tables.changed[table])
                           for table in range(count)], 1)
        session = tables.bind(ids, self.out)
        session.run(torch.cuda.current_stream().cuda_stream)
        first = self.getRows()[..., 0].float().clone()
        torch.cuda.synchronize()
        return session, ids, hot, first

    def getRows(self):
        return self.out.view(self.out.shape[0], len(self.tables.names), self.tables.width)

    def enqueue(self):
        """What must not overlap an update."""
        self.sets[self.runs % len(self.sets)][0].run(self.stream.cuda_stream)
        self.seen.copy_(self.versions)
        self.done.record(self.stream)

    def check(self):
        _, _, hot, first = self.sets[self.runs % len(self.sets)]
        rows = self.getRows()
        step = rows[..., 1:] - rows[..., :-1]
        self.torn += ((step != 1) & (step != 1 - PERIOD)).any(-1).sum()
        want = (first + hot * self.seen) % PERIOD
        self.other += (rows[..., 0].float() != want).sum()
        self.changedRead += hot.sum()
        self.out.fill_(float("nan"))
        self.runs += 1


class Contest:
    def __init__(self, options):
        self.options, self.tables = options, Tables(options)
        self.lock, self.isOver, self.failures = threading.Lock(), False, []
        self.versions = torch.zeros(len(self.tables.names), device=self.tables.device)
        self.old = self.readChanged()
        self.updated = torch.cuda.Event()
        self.updated.record()
        self.readers = [Reader(self.tables, self.versions, options.batch, seed)
                        for seed in range(options.threads)]
        self.ids, self.onHost = self.tables.changed.tolist(), self.tables.countHost()
        self.round = 0
        torch.cuda.synchronize()

    def readChanged(self):
        """[tables, rows that change, width]"""
        ids = self.tables.changed.t().contiguous()
        out = self.tables.makeOut(len(ids))
        session = self.tables.bind(ids, out)
        session.run(torch.cuda.current_stream().cuda_stream)
        torch.cuda.synchronize()
        return out.view(len(ids), -1, self.tables.width).transpose(0, 1).contiguous().float()

    def read(self, reader, ordered):
        try:
            with torch.cuda.stream(reader.stream):
                while not self.isOver:
                    with self.lock:
                        if ordered:
                            reader.stream.wait_event(self.updated)
                        reader.enqueue()
                    reader.check()
                    reader.stream.synchronize()
        except Exception as error:  # in a thread: for the main one to tell
            self.failures.append(error)

    def getVersion(self, table, version):
        rows = (self.old[table] + version) % PERIOD
        return rows.to(self.tables.torchDtype).contiguous()

    def update(self, stream, table, version, onHost, ordered):
        """Of memory of the host, the call waits for the stream."""
        rows = self.getVersion(table, version)
        if onHost:
            rows = rows.cpu()
        with self.lock:
            if ordered:
                for reader in self.readers:
                    stream.wait_event(reader.done)
            self.tables.model.updateRows(
                self.tables.names[table], self.ids[table], rows.data_ptr(), self.tables.dtype,
                rows.shape, stream.cuda_stream, onHost)
            self.versions[table] = version
            self.updated.record(stream)
        stream.synchronize()  # `rows` is read until then

    def run(self, seconds, ordered=True):
        """Each table in turn, in whole rounds."""
        for reader in self.readers:
            reader.reset()
        threads = [threading.Thread(target=self.read, args=[reader, ordered])
                   for reader in self.readers]
        stream = torch.cuda.Stream()
        self.isOver, rounds, start = False, 0, time.monotonic()
        for thread in threads:
            thread.start()
        with torch.cuda.stream(stream):
            while not self.failures and (time.monotonic() - start < seconds or rounds < 2):
                rounds, self.round = rounds + 1, self.round + 1
                for table in range(len(self.tables.names)):
                    self.update(stream, table, self.round, (table + rounds) % 2, ordered)
        self.isOver = True
        for thread in threads:
            thread.join()
        if self.failures:
            raise self.failures[0]
        torch.cuda.synchronize()
        return self.report(time.monotonic() - start, rounds, ordered)

    def report(self, seconds, rounds, ordered):
        now = self.readChanged()
        want = torch.stack([self.getVersion(table, self.round).float()
                            for table in range(len(self.tables.names))])
        total = lambda name: sum(int(getattr(reader, name)) for reader in self.readers)
        runs = sum(reader.runs for reader in self.readers)
        infos = self.tables.infos
        return {"seconds": seconds, "threads": len(self.readers), "runs": runs,
                "rows_read": runs * self.options.batch * len(infos),
                "changed_rows_read": total("changedRead"),
                "updates": rounds * len(infos),
                "rows_changed": rounds * sum(map(len, self.ids)),
                "rows_changed_on_host": rounds * sum(self.onHost),
                "table_bytes": sum(info.bytes for info in infos),
                "device_table_bytes": sum(info.bytes // info.rows * info.device_rows
                                          for info in infos),
                "ordered": ordered,
                "half_old": total("torn"), "other_version": total("other"),
                "left_wrong": int((now != want).any(-1).sum())}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("bundle")
    parser.add_argument("--fusec", help="a build of fusec, beside which libfusec_rt.so lies")
    parser.add_argument("--library", help="libfusec_rt.so itself")
    parser.add_argument("--device-memory", type=float, default=0, metavar="BYTES",
                        help="for weights; 0: as many as they take")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--unordered", type=float, default=0, metavar="SECONDS",
                        help="afterwards without events, to see what they are for")
    options = parser.parse_args()
    options.device = "cuda"
    if not options.library and options.fusec:
        options.library = builds.findLibrary(options.fusec)
    if not options.library:
        parser.error("expected --library, or --fusec with libfusec_rt.so beside it")
    return options


def main():
    options = parse()
    contest = Contest(options)
    found = contest.run(options.seconds)
    print(json.dumps(found), flush=True)
    if options.unordered:
        print(json.dumps(contest.run(options.unordered, ordered=False)), flush=True)
    if wrong := found["half_old"] + found["other_version"] + found["left_wrong"]:
        raise SystemExit(f"{wrong} rows are not what they should be")


if __name__ == "__main__":
    main()
