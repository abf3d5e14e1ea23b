-- Links of a page of Markdown on the site: pages are .html there; a file that is no page is a name without a link.
function Link(link)
  local file, anchor = link.target:match("^([^#]*)(#?.*)$")
  if file == "" or file:match("^https?:") then return link end
  if file:match("%.md$") then
    link.target = file:gsub("%.md$", ".html") .. anchor
    return link
  end
  return link.content
end
