// A file system for tests whose disk can lose its power and go wrong.
//
// Requests are lines of JSON on standard input, each answered by one on standard output; the first line says that it is
// mounted. It is unmounted and gone when its input ends.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

type request struct {
	// rule, clear, cut, survive
	Do string `json:"do"`
	// Of a rule: names of calls (none is all), a glob, and what happens: after the delay, the error.
	Calls   []string `json:"calls"`
	Path    string   `json:"path"`
	Error   string   `json:"error"`
	DelayMs int      `json:"delay_ms"`
	Hang    bool     `json:"hang"`
	Count   int      `json:"count"`
	// Of survive: where to put it.
	Folder string `json:"folder"`
	Seed   int64  `json:"seed"`
}

func main() {
	from := flag.String("from", "", "a folder to begin with, all of it durable")
	names := flag.String("names-with-files", "", "a glob: files of which a sync keeps the name, too")
	flag.Parse()
	point := flag.Arg(0)
	d := newDisk()
	if *from != "" {
		if err := d.load(*from); err != nil {
			log.Fatal(err)
		}
	}
	m := newMount(d)
	if *names != "" {
		m.namesWithFiles = globPattern(*names)
	}
	server, err := fuse.NewServer(m, point, &fuse.MountOptions{
		// Postgres runs as another user than root.
		AllowOther: os.Geteuid() == 0, Options: []string{"default_permissions"}, DirectMount: os.Geteuid() == 0,
		FsName: "faulty-disk", Name: "faulty-disk", MaxWrite: 1 << 20, DisableXAttrs: true,
		DisableReadDirPlus: true, ExplicitDataCacheControl: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	go server.Serve()
	if err := server.WaitMount(); err != nil {
		log.Fatal(err)
	}
	answer(nil)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var r request
		err := json.Unmarshal(lines.Bytes(), &r)
		if err == nil {
			err = m.serve(server, r)
		}
		answer(err)
	}
	m.rules.clear()
	// By force: a request that is never answered would keep its caller, and us, for ever.
	if syscall.Unmount(point, syscall.MNT_FORCE|syscall.MNT_DETACH) != nil {
		_ = server.Unmount()
	}
}

const dropTimeout = 2 * time.Second

// dropCaches lets the kernel forget the pages that it would not ask for again. It writes mapped ones first, and so waits
// where writing hangs: then it goes on by itself, so that requests are still served.
func (m *mount) dropCaches(server *fuse.Server) {
	dropped := make(chan struct{})
	go func() {
		defer close(dropped)
		for _, id := range m.files() {
			server.InodeNotify(id, 0, -1)
		}
	}()
	select {
	case <-dropped:
	case <-time.After(dropTimeout):
	}
}

func answer(err error) {
	text := []byte(`{}`)
	if err != nil {
		text, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	fmt.Printf("%s\n", text)
}

func (m *mount) serve(server *fuse.Server, r request) error {
	switch r.Do {
	case "rule":
		if err := m.rules.add(r); err != nil {
			return err
		}
		if len(r.Calls) == 0 || slices.Contains(r.Calls, "read") {
			m.dropCaches(server)
		}
	case "clear":
		m.rules.clear()
	case "cut":
		m.mutex.Lock()
		m.disk.cut = true
		m.mutex.Unlock()
	case "survive":
		m.mutex.Lock()
		found := m.disk.survive(r.Seed)
		m.mutex.Unlock()
		return found.store(r.Folder)
	default:
		return fmt.Errorf("there is no request %q", r.Do)
	}
	return nil
}
