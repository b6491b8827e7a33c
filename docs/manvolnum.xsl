<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors -->
<!-- SPDX-License-Identifier: LGPL-2.1-or-later -->
<!-- Turns a page that gdbus-codegen made into what a manual page is made from: it adds section,
     source and manual, and leaves out the links, which lead nowhere on paper. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:param name="version"/>

  <xsl:template match="node() | @*">
    <xsl:copy>
      <xsl:apply-templates select="node() | @*"/>
    </xsl:copy>
  </xsl:template>

  <xsl:template match="link">
    <xsl:apply-templates/>
  </xsl:template>

  <!-- Quotation marks in a heading would end the heading's argument. -->
  <xsl:template match="title/text()">
    <xsl:value-of select="translate(., '&quot;', '')"/>
  </xsl:template>

  <xsl:template match="refmeta">
    <refentryinfo>
      <author><othername>The WebLocks for D-Bus authors</othername></author>
      <date>2026</date>
      <productname>WebLocks for D-Bus</productname>
      <productnumber><xsl:value-of select="$version"/></productnumber>
    </refentryinfo>
    <refmeta>
      <xsl:copy-of select="refentrytitle"/>
      <manvolnum>5</manvolnum>
      <refmiscinfo class="manual">D-Bus interfaces</refmiscinfo>
    </refmeta>
  </xsl:template>
</xsl:stylesheet>
