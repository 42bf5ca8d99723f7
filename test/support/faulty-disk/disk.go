package main

import (
	"math/rand"
	"regexp"
	"slices"
	"syscall"
	"time"
)

// A disk in memory, twice over: as the machine sees it while it runs, and what of that would survive a loss of power.
// A file's content is durable as of its last fsync, a folder's entries as of the folder's.

const pageSize = 4096

// content is immutable page by page where both views share one: a write makes a page of its own first.
type content struct {
	size  int64
	pages map[int64][]byte
}

func newContent() content { return content{pages: map[int64][]byte{}} }

type node struct {
	id, lookups         uint64
	mode, uid, gid      uint32
	links               uint32
	atime, mtime, ctime time.Time
	target              string

	live, durable content
	// Pages of the live content that were written or cut off since the last fsync.
	dirty map[int64]struct{}

	// Of a folder.
	entries, durableEntries map[string]*node

	// Where it was last found, for the paths of rules.
	parent *node
	name   string
}

func (n *node) isFolder() bool { return n.mode&syscall.S_IFMT == syscall.S_IFDIR }
func (n *node) isFile() bool   { return n.mode&syscall.S_IFMT == syscall.S_IFREG }

// path is relative to the mount; "" is the root.
func (n *node) path() string {
	if n.parent == nil {
		return ""
	}
	if above := n.parent.path(); above != "" {
		return above + "/" + n.name
	}
	return n.name
}

// change is one entry of one folder: a name that is given, or (node nil) taken away.
type change struct {
	folder *node
	name   string
	node   *node
}

// operation is what becomes durable as a whole, as a rename does: in its two folders at once or in none.
type operation []change

type place struct {
	folder *node
	name   string
}

type disk struct {
	root *node
	// Every node the kernel knows, by id.
	nodes  map[uint64]*node
	lastID uint64
	// Operations on folders since these were last synced, oldest first.
	pending []operation
	cut     bool
}

func newDisk() *disk {
	d := &disk{nodes: map[uint64]*node{}}
	d.root = d.newNode(syscall.S_IFDIR|0o755, 0, 0)
	d.nodes[d.root.id] = d.root
	return d
}

func (d *disk) newNode(mode, uid, gid uint32) *node {
	d.lastID++
	now := time.Now()
	n := &node{id: d.lastID, mode: mode, uid: uid, gid: gid, atime: now, mtime: now, ctime: now}
	if n.isFolder() {
		n.entries, n.durableEntries = map[string]*node{}, map[string]*node{}
	} else {
		n.live, n.durable, n.dirty = newContent(), newContent(), map[int64]struct{}{}
	}
	return n
}

// change applies an operation to the live view.
func (d *disk) change(operation operation) {
	now := time.Now()
	for _, c := range operation {
		if old := c.folder.entries[c.name]; old != nil {
			old.links--
			old.ctime = now
			delete(c.folder.entries, c.name)
		}
		if c.node != nil {
			c.folder.entries[c.name] = c.node
			c.node.parent, c.node.name = c.folder, c.name
			c.node.links++
			c.node.ctime = now
		}
		c.folder.mtime, c.folder.ctime = now, now
	}
	d.pending = append(d.pending, operation)
}

func (n *node) read(into []byte, offset int64) int {
	if offset >= n.live.size {
		return 0
	}
	into = into[:min(int64(len(into)), n.live.size-offset)]
	for done := 0; done < len(into); {
		at := offset + int64(done)
		start := int(at % pageSize)
		part := into[done:min(len(into), done+pageSize-start)]
		if page := n.live.pages[at/pageSize]; page != nil {
			copy(part, page[start:])
		} else {
			clear(part)
		}
		done += len(part)
	}
	return len(into)
}

func (n *node) write(data []byte, offset int64) {
	for done := 0; done < len(data); {
		at := offset + int64(done)
		done += copy(n.writablePage(at / pageSize)[at%pageSize:], data[done:])
	}
	n.live.size = max(n.live.size, offset+int64(len(data)))
	n.mtime = time.Now()
	n.ctime = n.mtime
}

func (n *node) writablePage(index int64) []byte {
	page := n.live.pages[index]
	if _, isDirty := n.dirty[index]; isDirty && page != nil {
		return page
	}
	own := make([]byte, pageSize)
	copy(own, page)
	n.live.pages[index] = own
	n.dirty[index] = struct{}{}
	return own
}

func (n *node) truncate(size int64) {
	if size < n.live.size {
		for index := range n.live.pages {
			if index*pageSize >= size {
				delete(n.live.pages, index)
				n.dirty[index] = struct{}{}
			}
		}
		if size%pageSize != 0 && n.live.pages[size/pageSize] != nil {
			clear(n.writablePage(size / pageSize)[size%pageSize:])
		}
	}
	n.live.size = size
	n.mtime = time.Now()
	n.ctime = n.mtime
}

// sync makes the file's content durable. Nothing is said of its name.
func (n *node) sync() {
	for index := range n.dirty {
		keepPage(n.durable, n.live, index)
	}
	n.durable.size = n.live.size
	clear(n.dirty)
}

func keepPage(into, from content, index int64) {
	if page := from.pages[index]; page != nil {
		into.pages[index] = page
	} else {
		delete(into.pages, index)
	}
}

// syncFolder makes the folder's entries durable.
func (d *disk) syncFolder(folder *node) {
	d.commit(func(c change) bool { return c.folder == folder })
}

// syncName makes the name of a file durable, and those of the folders that it is in, as far as the pattern matches them.
func (d *disk) syncName(n *node, pattern *regexp.Regexp) {
	for ; n.parent != nil && pattern.MatchString(n.path()); n = n.parent {
		at := place{n.parent, n.name}
		d.commit(func(c change) bool { return place{c.folder, c.name} == at })
	}
}

// commit makes the operations that are chosen durable, and the earlier ones on the same names that these rest on.
func (d *disk) commit(isChosen func(c change) bool) {
	needed := map[place]bool{}
	rest := []operation{}
	chosen := []operation{}
	for _, operation := range slices.Backward(d.pending) {
		if !slices.ContainsFunc(operation, func(c change) bool {
			return isChosen(c) || needed[place{c.folder, c.name}]
		}) {
			rest = append(rest, operation)
			continue
		}
		for _, c := range operation {
			needed[place{c.folder, c.name}] = true
		}
		chosen = append(chosen, operation)
	}
	for _, operation := range slices.Backward(chosen) {
		for _, c := range operation {
			setEntry(c.folder.durableEntries, c)
		}
	}
	slices.Reverse(rest)
	d.pending = rest
}

func setEntry(entries map[string]*node, c change) {
	if c.node == nil {
		delete(entries, c.name)
	} else {
		entries[c.name] = c.node
	}
}

// survivor is what a machine finds after a loss of power.
type survivor struct {
	node     *node
	content  content
	children map[string]*survivor
}

// survive says what is found. Without a seed (0) nothing that was not synced; a seed lets some of it through, as a disk
// may have written any of it: of each file any of the dirty pages, of the folders' operations the first few.
func (d *disk) survive(seed int64) *survivor {
	var random *rand.Rand
	entries := map[*node]map[string]*node{}
	if seed != 0 {
		random = rand.New(rand.NewSource(seed))
		for _, operation := range d.pending[:random.Intn(len(d.pending)+1)] {
			for _, c := range operation {
				if entries[c.folder] == nil {
					entries[c.folder] = copyOf(c.folder.durableEntries)
				}
				setEntry(entries[c.folder], c)
			}
		}
	}
	found := map[*node]*survivor{}
	var visit func(n *node) *survivor
	visit = func(n *node) *survivor {
		if known := found[n]; known != nil {
			return known
		}
		known := &survivor{node: n}
		found[n] = known
		if !n.isFolder() {
			known.content = n.survive(random)
			return known
		}
		children := n.durableEntries
		if changed, ok := entries[n]; ok {
			children = changed
		}
		known.children = map[string]*survivor{}
		for _, name := range sortedKeys(children) {
			known.children[name] = visit(children[name])
		}
		return known
	}
	return visit(d.root)
}

func (n *node) survive(random *rand.Rand) content {
	kept := content{n.durable.size, copyOf(n.durable.pages)}
	if random == nil || (len(n.dirty) == 0 && n.live.size == n.durable.size) {
		return kept
	}
	// None, all, or any of the pages.
	share := []float64{0, 0.5, 1}[random.Intn(3)]
	end := int64(0)
	for _, index := range sortedKeys(n.dirty) {
		if random.Float64() >= share {
			continue
		}
		keepPage(kept, n.live, index)
		if page := kept.pages[index]; page != nil {
			// The live page goes on changing.
			kept.pages[index] = slices.Clone(page)
			end = min(n.live.size, (index+1)*pageSize)
		}
	}
	if random.Intn(2) == 0 {
		kept.size = n.live.size
	}
	kept.size = max(kept.size, end)
	return kept
}

func copyOf[K comparable, V any](from map[K]V) map[K]V {
	into := make(map[K]V, len(from))
	for key, value := range from {
		into[key] = value
	}
	return into
}

func sortedKeys[K interface{ ~int64 | ~string }, V any](of map[K]V) []K {
	keys := make([]K, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
