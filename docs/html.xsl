<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors -->
<!-- SPDX-License-Identifier: LGPL-2.1-or-later -->
<!-- How the reference page looks: one HTML file that needs no other. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
                xmlns="http://www.w3.org/1999/xhtml">
  <xsl:import href="http://docbook.sourceforge.net/release/xsl/current/xhtml5/docbook.xsl"/>

  <xsl:param name="generate.toc">reference toc,title</xsl:param>
  <xsl:param name="refentry.generate.name" select="0"/>
  <xsl:param name="refentry.generate.title" select="1"/>
  <xsl:param name="docbook.css.source"/>

  <xsl:template name="user.head.content">
    <style>
      body { max-width: 50em; margin: 2em auto; padding: 0 1em; line-height: 1.45;
             font-family: sans-serif; }
      pre { background: #f4f4f4; padding: .7em; overflow-x: auto; line-height: 1.3; }
      h3 { margin-top: 2.5em; border-top: 1px solid #ccc; padding-top: .7em; }
      dt { margin-top: .5em; }
      dd p { margin: .2em 0; }
    </style>
  </xsl:template>
</xsl:stylesheet>
