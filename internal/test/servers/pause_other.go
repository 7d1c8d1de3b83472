//go:build !unix

package servers

import "errors"

func (s *Server) pause() error { return errors.ErrUnsupported }

func (s *Server) resume() error { return errors.ErrUnsupported }
