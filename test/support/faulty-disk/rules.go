package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// What is to go wrong. A rule concerns calls by name and by the path below the mount.

type rule struct {
	calls map[string]bool
	path  *regexp.Regexp
	errno fuse.Status
	delay time.Duration
	hangs bool
	// How often it still applies; negative: always.
	left int
}

type rules struct {
	mutex   sync.Mutex
	all     []*rule
	resumed chan struct{}
}

func (r *rules) add(request request) error {
	pattern := request.Path
	if pattern == "" {
		pattern = "**"
	}
	errno := 0
	if request.Error != "" {
		if errno = int(errnoOf(request.Error)); errno == 0 {
			return fmt.Errorf("there is no error %s", request.Error)
		}
	}
	calls := map[string]bool{}
	for _, call := range request.Calls {
		calls[call] = true
	}
	left := request.Count
	if left == 0 {
		left = -1
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.all = append(r.all, &rule{
		calls: calls, path: globPattern(pattern), errno: fuse.Status(errno), hangs: request.Hang,
		delay: time.Duration(request.DelayMs) * time.Millisecond, left: left,
	})
	return nil
}

func errnoOf(name string) unix.Errno {
	for errno := unix.Errno(1); errno < 200; errno++ {
		if unix.ErrnoName(errno) == name {
			return errno
		}
	}
	return 0
}

// globPattern: `*` within a name, `**` across folders, `?` one character.
func globPattern(glob string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(glob)
	quoted = strings.ReplaceAll(quoted, `\*\*`, `.*`)
	quoted = strings.ReplaceAll(quoted, `\*`, `[^/]*`)
	return regexp.MustCompile("^" + strings.ReplaceAll(quoted, `\?`, `[^/]`) + "$")
}

func (r *rules) clear() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.all = nil
	close(r.resumed)
	r.resumed = make(chan struct{})
}

// meet lets a call go wrong as the rules say: OK where it may go on.
func (r *rules) meet(caller caller, path string, calls []string) fuse.Status {
	r.mutex.Lock()
	resumed := r.resumed
	met := []*rule{}
	for _, each := range r.all {
		if each.left != 0 && each.concerns(path, calls) {
			each.left--
			met = append(met, each)
		}
	}
	r.mutex.Unlock()
	for _, each := range met {
		if each.hangs && !caller.waitFor(resumed) {
			return fuse.EINTR
		}
		if each.delay > 0 {
			time.Sleep(each.delay)
		}
		if each.errno != fuse.OK {
			return each.errno
		}
	}
	return fuse.OK
}

// caller is the thread that waits for an answer; cancel is closed when a signal reached it.
type caller struct {
	thread uint32
	cancel <-chan struct{}
}

// waitFor is false where the caller is being killed: any other signal leaves it waiting, as a disk does.
func (c caller) waitFor(resumed <-chan struct{}) bool {
	select {
	case <-resumed:
		return true
	case <-c.cancel:
	}
	for !c.isKilled() {
		select {
		case <-resumed:
			return true
		case <-time.After(20 * time.Millisecond):
		}
	}
	return false
}

func (c caller) isKilled() bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.thread))
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(status)) {
		var pending uint64
		name, value, _ := strings.Cut(line, ":")
		if name != "SigPnd" && name != "ShdPnd" {
			continue
		}
		if _, err := fmt.Sscanf(value, "%x", &pending); err == nil && pending&(1<<(unix.SIGKILL-1)) != 0 {
			return true
		}
	}
	return false
}

func (each *rule) concerns(path string, calls []string) bool {
	for _, call := range calls {
		if (len(each.calls) == 0 || each.calls[call]) && each.path.MatchString(path) {
			return true
		}
	}
	return false
}
