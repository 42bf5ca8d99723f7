package main

import (
	"regexp"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// The disk as the kernel asks for it. Names and attributes are asked for each time, so that every call meets the rules.

type mount struct {
	fuse.RawFileSystem
	mutex sync.Mutex
	disk  *disk
	rules rules
	// Entries of folders that are being read, by handle.
	listings   map[uint64][]fuse.DirEntry
	lastHandle uint64
	// Of which files a sync keeps the name, too.
	namesWithFiles *regexp.Regexp
}

func newMount(d *disk) *mount {
	return &mount{
		RawFileSystem: fuse.NewDefaultRawFileSystem(), disk: d, listings: map[uint64][]fuse.DirEntry{},
		rules: rules{resumed: make(chan struct{})},
	}
}

// begin lets the call meet the rules and takes the lock, which the caller gives back unless the status says otherwise.
func (m *mount) begin(
	cancel <-chan struct{}, header *fuse.InHeader, name string, calls ...string,
) (*node, fuse.Status) {
	m.mutex.Lock()
	n := m.disk.nodes[header.NodeId]
	path := ""
	if n != nil {
		path = n.path()
	}
	m.mutex.Unlock()
	if name != "" && path != "" {
		path += "/"
	}
	if status := m.rules.meet(caller{header.Pid, cancel}, path+name, calls); !status.Ok() {
		return nil, status
	}
	m.mutex.Lock()
	if m.disk.cut || n == nil {
		m.mutex.Unlock()
		return nil, fuse.EIO
	}
	return n, fuse.OK
}

func (m *mount) tell(n *node, out *fuse.EntryOut) {
	n.lookups++
	m.disk.nodes[n.id] = n
	out.NodeId, out.Generation = n.id, 1
	describe(n, &out.Attr)
}

func describe(n *node, out *fuse.Attr) {
	size := n.live.size
	if n.isFolder() {
		size = pageSize
	} else if n.target != "" {
		size = int64(len(n.target))
	}
	links := n.links
	if n.isFolder() {
		links++
	}
	*out = fuse.Attr{
		Ino: n.id, Size: uint64(size), Blocks: uint64(len(n.live.pages)) * pageSize / 512, Mode: n.mode,
		Nlink: links, Owner: fuse.Owner{Uid: n.uid, Gid: n.gid}, Blksize: pageSize,
	}
	out.SetTimes(&n.atime, &n.mtime, &n.ctime)
}

func (m *mount) Lookup(cancel <-chan struct{}, header *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	folder, status := m.begin(cancel, header, name, "lookup")
	if !status.Ok() {
		return status
	}
	defer m.mutex.Unlock()
	n := folder.entries[name]
	if n == nil {
		return fuse.ENOENT
	}
	m.tell(n, out)
	return fuse.OK
}

func (m *mount) Forget(id, lookups uint64) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	n := m.disk.nodes[id]
	if n == nil || n == m.disk.root {
		return
	}
	if n.lookups -= min(n.lookups, lookups); n.lookups == 0 {
		delete(m.disk.nodes, id)
	}
}

func (m *mount) GetAttr(cancel <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	n, status := m.begin(cancel, &in.InHeader, "", "stat")
	if !status.Ok() {
		return status
	}
	defer m.mutex.Unlock()
	describe(n, &out.Attr)
	return fuse.OK
}

func (m *mount) SetAttr(cancel <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	call := "setattr"
	size, resizes := in.GetSize()
	if resizes {
		call = "truncate"
	}
	n, status := m.begin(cancel, &in.InHeader, "", call)
	if !status.Ok() {
		return status
	}
	defer m.mutex.Unlock()
	if resizes {
		n.truncate(int64(size))
	}
	if mode, ok := in.GetMode(); ok {
		n.mode = n.mode&syscall.S_IFMT | mode&0o7777
	}
	if uid, ok := in.GetUID(); ok {
		n.uid = uid
	}
	if gid, ok := in.GetGID(); ok {
		n.gid = gid
	}
	if atime, ok := in.GetATime(); ok {
		n.atime = atime
	}
	if mtime, ok := in.GetMTime(); ok {
		n.mtime = mtime
	}
	n.ctime = time.Now()
	describe(n, &out.Attr)
	return fuse.OK
}

func (m *mount) make(
	cancel <-chan struct{}, header *fuse.InHeader, name string, mode uint32, call string, out *fuse.EntryOut,
) (*node, fuse.Status) {
	folder, status := m.begin(cancel, header, name, call)
	if !status.Ok() {
		return nil, status
	}
	defer m.mutex.Unlock()
	if folder.entries[name] != nil {
		return nil, fuse.Status(syscall.EEXIST)
	}
	n := m.disk.newNode(mode, header.Uid, header.Gid)
	m.disk.change(operation{{folder, name, n}})
	m.tell(n, out)
	return n, fuse.OK
}

func (m *mount) Mknod(cancel <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	_, status := m.make(cancel, &in.InHeader, name, in.Mode, "create", out)
	return status
}

func (m *mount) Mkdir(cancel <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	_, status := m.make(cancel, &in.InHeader, name, syscall.S_IFDIR|in.Mode, "mkdir", out)
	return status
}

func (m *mount) Create(cancel <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	_, status := m.make(cancel, &in.InHeader, name, syscall.S_IFREG|in.Mode&0o7777, "create", &out.EntryOut)
	return status
}

func (m *mount) Symlink(
	cancel <-chan struct{}, header *fuse.InHeader, target string, name string, out *fuse.EntryOut,
) fuse.Status {
	n, status := m.make(cancel, header, name, syscall.S_IFLNK|0o777, "symlink", out)
	if status.Ok() {
		m.mutex.Lock()
		defer m.mutex.Unlock()
		n.target = target
		describe(n, &out.Attr)
	}
	return status
}

func (m *mount) Readlink(cancel <-chan struct{}, header *fuse.InHeader) ([]byte, fuse.Status) {
	n, status := m.begin(cancel, header, "", "readlink")
	if !status.Ok() {
		return nil, status
	}
	defer m.mutex.Unlock()
	return []byte(n.target), fuse.OK
}

func (m *mount) Link(cancel <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	folder, status := m.begin(cancel, &in.InHeader, name, "link")
	if !status.Ok() {
		return status
	}
	defer m.mutex.Unlock()
	n := m.disk.nodes[in.Oldnodeid]
	if n == nil {
		return fuse.EIO
	}
	if folder.entries[name] != nil {
		return fuse.Status(syscall.EEXIST)
	}
	m.disk.change(operation{{folder, name, n}})
	m.tell(n, out)
	return fuse.OK
}

func (m *mount) remove(cancel <-chan struct{}, header *fuse.InHeader, name string, call string) fuse.Status {
	folder, status := m.begin(cancel, header, name, call)
	if !status.Ok() {
		return status
	}
	defer m.mutex.Unlock()
	n := folder.entries[name]
	if n == nil {
		return fuse.ENOENT
	}
	if len(n.entries) > 0 {
		return fuse.Status(syscall.ENOTEMPTY)
	}
	m.disk.change(operation{{folder, name, nil}})
	return fuse.OK
}

func (m *mount) Unlink(cancel <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	return m.remove(cancel, header, name, "unlink")
}

func (m *mount) Rmdir(cancel <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	return m.remove(cancel, header, name, "rmdir")
}

func (m *mount) Rename(cancel <-chan struct{}, in *fuse.RenameIn, name string, newName string) fuse.Status {
	folder, status := m.begin(cancel, &in.InHeader, name, "rename")
	if !status.Ok() {
		return status
	}
	defer m.mutex.Unlock()
	newFolder := m.disk.nodes[in.Newdir]
	if newFolder == nil || in.Flags&^unix.RENAME_NOREPLACE != 0 {
		return fuse.EINVAL
	}
	n, replaced := folder.entries[name], newFolder.entries[newName]
	switch {
	case n == nil:
		return fuse.ENOENT
	case n == replaced:
		return fuse.OK
	case replaced != nil && in.Flags&unix.RENAME_NOREPLACE != 0:
		return fuse.Status(syscall.EEXIST)
	case replaced != nil && len(replaced.entries) > 0:
		return fuse.Status(syscall.ENOTEMPTY)
	}
	m.disk.change(operation{{folder, name, nil}, {newFolder, newName, n}})
	return fuse.OK
}

func (m *mount) Open(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	calls := []string{"open"}
	if in.Flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		calls = append(calls, "open-for-writing")
	}
	_, status := m.begin(cancel, &in.InHeader, "", calls...)
	if status.Ok() {
		m.mutex.Unlock()
	}
	return status
}

func (m *mount) Read(cancel <-chan struct{}, in *fuse.ReadIn, buffer []byte) (fuse.ReadResult, fuse.Status) {
	n, status := m.begin(cancel, &in.InHeader, "", "read")
	if !status.Ok() {
		return nil, status
	}
	defer m.mutex.Unlock()
	return fuse.ReadResultData(buffer[:n.read(buffer, int64(in.Offset))]), fuse.OK
}

func (m *mount) Write(cancel <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	n, status := m.begin(cancel, &in.InHeader, "", "write")
	if !status.Ok() {
		return 0, status
	}
	defer m.mutex.Unlock()
	n.write(data, int64(in.Offset))
	return uint32(len(data)), fuse.OK
}

func (m *mount) Fallocate(cancel <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	if in.Mode != 0 {
		return fuse.Status(syscall.EOPNOTSUPP)
	}
	n, status := m.begin(cancel, &in.InHeader, "", "allocate")
	if !status.Ok() {
		return status
	}
	defer m.mutex.Unlock()
	if end := int64(in.Offset + in.Length); end > n.live.size {
		n.truncate(end)
	}
	return fuse.OK
}

func (m *mount) Flush(cancel <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	_, status := m.begin(cancel, &in.InHeader, "", "close")
	if status.Ok() {
		m.mutex.Unlock()
	}
	return status
}

// giveUp does as Linux does when pages cannot be written: they are taken for clean, and a later fsync that succeeds says
// nothing of them.
func (m *mount) giveUp(id uint64) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if n := m.disk.nodes[id]; n != nil {
		clear(n.dirty)
	}
}

// Fsync follows every write of a file that was opened for synchronous ones, and msync: the kernel asks for it.
func (m *mount) Fsync(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	n, status := m.begin(cancel, &in.InHeader, "", "fsync")
	if !status.Ok() {
		m.giveUp(in.NodeId)
		return status
	}
	defer m.mutex.Unlock()
	n.sync()
	if m.namesWithFiles != nil {
		m.disk.syncName(n, m.namesWithFiles)
	}
	return fuse.OK
}

func (m *mount) FsyncDir(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	n, status := m.begin(cancel, &in.InHeader, "", "fsync")
	if !status.Ok() {
		return status
	}
	defer m.mutex.Unlock()
	m.disk.syncFolder(n)
	return fuse.OK
}

func (m *mount) OpenDir(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	folder, status := m.begin(cancel, &in.InHeader, "", "open", "readdir")
	if !status.Ok() {
		return status
	}
	defer m.mutex.Unlock()
	m.lastHandle++
	out.Fh = m.lastHandle
	for _, name := range sortedKeys(folder.entries) {
		n := folder.entries[name]
		m.listings[out.Fh] = append(m.listings[out.Fh], fuse.DirEntry{Mode: n.mode, Name: name, Ino: n.id})
	}
	return fuse.OK
}

func (m *mount) ReadDir(cancel <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	_, status := m.begin(cancel, &in.InHeader, "", "readdir")
	if !status.Ok() {
		return status
	}
	defer m.mutex.Unlock()
	listing := m.listings[in.Fh]
	for _, entry := range listing[min(int(in.Offset), len(listing)):] {
		if !out.AddDirEntry(entry) {
			break
		}
	}
	return fuse.OK
}

func (m *mount) ReleaseDir(in *fuse.ReleaseIn) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.listings, in.Fh)
}

func (m *mount) StatFs(cancel <-chan struct{}, header *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	*out = fuse.StatfsOut{
		Bsize: pageSize, Frsize: pageSize, NameLen: 255, Blocks: 1 << 28, Bfree: 1 << 28, Bavail: 1 << 28,
		Files: 1 << 20, Ffree: 1 << 20,
	}
	return fuse.OK
}

func (m *mount) files() []uint64 {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	ids := []uint64{}
	for id, n := range m.disk.nodes {
		if n.isFile() {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
