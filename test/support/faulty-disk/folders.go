package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// load puts a folder of the machine on the disk, all of it durable.
func (d *disk) load(from string) error {
	nodes := map[string]*node{"": d.root}
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		stat := info.Sys().(*syscall.Stat_t)
		if path == from {
			d.root.mode, d.root.uid, d.root.gid = stat.Mode, stat.Uid, stat.Gid
			return nil
		}
		name := strings.TrimPrefix(path, from+"/")
		n := d.newNode(stat.Mode, stat.Uid, stat.Gid)
		switch {
		case n.isFile():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			n.write(data, 0)
			n.sync()
		case !n.isFolder():
			if n.target, err = os.Readlink(path); err != nil {
				return err
			}
		}
		parent := nodes[parentOf(name)]
		d.change(operation{{parent, filepath.Base(name), n}})
		d.syncFolder(parent)
		n.mtime = info.ModTime()
		nodes[name] = n
		return nil
	})
}

func parentOf(name string) string {
	if parent := filepath.Dir(name); parent != "." {
		return parent
	}
	return ""
}

// store writes what survived into a folder of the machine.
func (s *survivor) store(path string) error { return s.storeAt(path, map[*survivor]string{}) }

func (s *survivor) storeAt(path string, stored map[*survivor]string) error {
	n := s.node
	if other, ok := stored[s]; ok {
		return os.Link(other, path)
	}
	stored[s] = path
	switch {
	case n.isFolder():
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		for name, child := range s.children {
			if err := child.storeAt(filepath.Join(path, name), stored); err != nil {
				return err
			}
		}
	case n.isFile():
		if err := s.content.store(path); err != nil {
			return err
		}
	case n.mode&syscall.S_IFMT == syscall.S_IFLNK:
		return os.Symlink(n.target, path)
	default:
		return nil
	}
	if err := os.Lchown(path, int(n.uid), int(n.gid)); err != nil {
		return err
	}
	if err := syscall.Chmod(path, n.mode&0o7777); err != nil {
		return err
	}
	return os.Chtimes(path, n.mtime, n.mtime)
}

func (c content) store(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	for index, page := range c.pages {
		if rest := c.size - index*pageSize; rest > 0 {
			if _, err := file.WriteAt(page[:min(rest, pageSize)], index*pageSize); err != nil {
				return err
			}
		}
	}
	return file.Truncate(c.size)
}
